package dev.carrel.e2e.functional;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * Installs E2B's packages and runs the programs that call all of their methods.
 *
 * @param variables by which the programs find the server
 */
record E2bPackages(Map<String, String> variables) {
  static final List<String> NPM_NOW = List.of("e2b@2.51.0", "@e2b/code-interpreter@2.8.0");
  static final List<String> NPM_A_YEAR_BEFORE = List.of("e2b@2.8.4", "@e2b/code-interpreter@2.3.3");
  static final List<String> PYPI_NOW = List.of("e2b==2.63.0", "e2b-code-interpreter==2.11.5");
  static final List<String> PYPI_A_YEAR_BEFORE =
      List.of("e2b==2.8.1", "e2b-code-interpreter==2.4.1");

  private static final long MINUTES = 5;

  E2bPackages {
    variables = Map.copyOf(variables);
  }

  /**
   * @param parts {@code all}, or {@code core} without the interpreter
   * @param options of Node itself
   */
  void javaScript(List<String> packages, String parts, String... options) throws Exception {
    Path folder = folder("npm-" + packages.getFirst());
    Files.writeString(folder.resolve("package.json"), "{\"private\":true}");
    var install =
        new ArrayList<>(List.of("npm", "install", "--no-audit", "--no-fund", "--no-package-lock"));
    install.addAll(packages);
    assertThat(run(folder, install)).as("npm install").endsWith("exit 0");
    copy(folder, "surface.mjs", "loopback.mjs", "e2b-not-offered.json", "e2b.mjs");
    var command = new ArrayList<>(List.of("node"));
    command.addAll(List.of(options));
    command.addAll(List.of("e2b.mjs", parts));
    assertThat(run(folder, command)).contains(" passed").endsWith("exit 0");
  }

  /**
   * @param parts {@code all}, or {@code core} without the interpreter
   */
  void python(List<String> packages, String parts) throws Exception {
    assertThat(python(packages, "e2b_client.py", parts)).contains(" passed, 0 failed");
  }

  /** Runs another program; what it said. */
  String python(List<String> packages, String program, String argument) throws Exception {
    Path folder = folder("pypi-" + packages.getFirst());
    String python = folder.resolve("venv/bin/python").toString();
    assertThat(run(folder, List.of("/usr/bin/python3", "-m", "venv", "venv"))).endsWith("exit 0");
    var install = new ArrayList<>(List.of(python, "-m", "pip", "install", "--quiet"));
    install.addAll(packages);
    assertThat(run(folder, install)).as("pip install").endsWith("exit 0");
    copy(folder, "surface.py", "loopback.py", "e2b-not-offered.json", program);
    String said = run(folder, List.of(python, program, argument));
    assertThat(said).endsWith("exit 0");
    return said;
  }

  /** Kept between runs: what a package manager has fetched need not be fetched again. */
  private static Path folder(String name) throws Exception {
    Path root = Path.of(System.getProperty("carrel.root"), "e2e", "target", "clients");
    return Files.createDirectories(root.resolve(name.replaceAll("[^A-Za-z0-9.-]", "_")));
  }

  private static void copy(Path folder, String... names) throws Exception {
    for (String name : names) {
      try (InputStream program = E2bPackages.class.getResourceAsStream("/clients/" + name)) {
        Files.write(folder.resolve(name), program.readAllBytes());
      }
    }
  }

  private String run(Path folder, List<String> command) throws Exception {
    Path log = Files.createTempFile("client", ".log");
    var builder = new ProcessBuilder(command).directory(folder.toFile());
    builder.redirectErrorStream(true).redirectOutput(log.toFile());
    builder.environment().putAll(variables);
    Process process = builder.start();
    try {
      boolean ended = process.waitFor(MINUTES, TimeUnit.MINUTES);
      return Files.readString(log).strip() + " exit " + (ended ? process.exitValue() : "never");
    } finally {
      process.descendants().forEach(ProcessHandle::destroyForcibly);
      process.destroyForcibly();
      Files.delete(log);
    }
  }
}
