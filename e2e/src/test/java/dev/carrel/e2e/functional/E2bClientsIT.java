package dev.carrel.e2e.functional;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.bench.ServerProcess;
import dev.carrel.e2e.Api;
import dev.carrel.e2e.Carrel;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

/** E2B's own packages, unchanged, as their package managers install them. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class E2bClientsIT {
  private static final long MINUTES = 5;
  private static final List<String> NOW = List.of("e2b==2.63.0", "e2b-code-interpreter==2.11.5");
  private static final List<String> A_YEAR_BEFORE =
      List.of("e2b==2.8.1", "e2b-code-interpreter==2.4.1");

  private ServerProcess server;
  private Api api;

  @BeforeAll
  void serve(@TempDir Path folder) throws Exception {
    server = Carrel.start(folder, Map.of());
    api = new Api(server.address(), server.token());
  }

  @AfterAll
  void end() throws Exception {
    api.close();
    server.close();
  }

  @Test
  void javaScriptNow() throws Exception {
    node("all", "e2b@2.51.0", "@e2b/code-interpreter@2.8.0");
  }

  @Test
  void javaScriptOfAYearBefore() throws Exception {
    node("core", "e2b@2.8.4");
  }

  @Test
  void pythonNow() throws Exception {
    python("pypi", NOW, "all");
  }

  @Test
  void pythonOfAYearBefore() throws Exception {
    python("pypi-old", A_YEAR_BEFORE, "core");
  }

  private void python(String name, List<String> packages, String parts) throws Exception {
    Path folder = folder(name);
    String python = pypi(folder, packages);
    copy(folder, "surface.py", "e2b-not-offered.json", "e2b_client.py");
    assertThat(run(folder, List.of(python, "e2b_client.py", parts)))
        .contains(" passed, 0 failed")
        .endsWith("exit 0");
  }

  /** Twice as long at most, and that in one of three rounds. */
  @Test
  void aCommandTakesHardlyLongerThanThroughOurOwnPackage() throws Exception {
    Path folder = folder("pypi");
    String python = pypi(folder, NOW);
    copy(folder, "e2b_latency.py");
    String said = run(folder, List.of(python, "e2b_latency.py"));
    assertThat(said).endsWith("exit 0");
    String ratio = said.substring(said.indexOf("ratio ") + 6, said.indexOf(" exit"));
    assertThat(Double.parseDouble(ratio.strip())).as(said).isLessThanOrEqualTo(2);
  }

  /** The interpreter of an environment that has E2B's packages. */
  private String pypi(Path folder, List<String> packages) throws Exception {
    String python = folder.resolve("venv/bin/python").toString();
    assertThat(run(folder, List.of("/usr/bin/python3", "-m", "venv", "venv"))).endsWith("exit 0");
    var install = new ArrayList<>(List.of(python, "-m", "pip", "install", "--quiet"));
    install.addAll(packages);
    assertThat(run(folder, install)).as("pip install").endsWith("exit 0");
    return python;
  }

  private void node(String parts, String... packages) throws Exception {
    Path folder = folder("npm-" + packages[0]);
    Files.writeString(folder.resolve("package.json"), "{\"private\":true}");
    var install =
        new ArrayList<>(List.of("npm", "install", "--no-audit", "--no-fund", "--no-package-lock"));
    install.addAll(List.of(packages));
    assertThat(run(folder, install)).as("npm install").endsWith("exit 0");
    copy(folder, "surface.mjs", "e2b-not-offered.json", "e2b.mjs");
    assertThat(run(folder, List.of("node", "e2b.mjs", parts)))
        .contains(" passed")
        .endsWith("exit 0");
  }

  /** Kept between runs: what a package manager has fetched need not be fetched again. */
  private static Path folder(String name) throws Exception {
    Path root = Path.of(System.getProperty("carrel.root"), "e2e", "target", "clients");
    return Files.createDirectories(root.resolve(name.replaceAll("[^A-Za-z0-9.-]", "_")));
  }

  private static void copy(Path folder, String... names) throws Exception {
    for (String name : names) {
      try (InputStream program = E2bClientsIT.class.getResourceAsStream("/clients/" + name)) {
        Files.write(folder.resolve(name), program.readAllBytes());
      }
    }
  }

  private String run(Path folder, List<String> command) throws Exception {
    Path log = Files.createTempFile("client", ".log");
    var builder = new ProcessBuilder(command).directory(folder.toFile());
    builder.redirectErrorStream(true).redirectOutput(log.toFile());
    builder.environment().put("E2B_API_URL", server.address().toString());
    builder.environment().put("E2B_SANDBOX_URL", server.address().toString());
    builder.environment().put("E2B_API_KEY", key());
    builder.environment().put("CARREL_URL", server.address().toString());
    builder.environment().put("CARREL_TOKEN", server.token());
    builder.environment().put("PYTHONPATH", System.getProperty("carrel.root") + "/sdks/python/src");
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

  private String key() {
    return api.call(
            "POST", "/api/v1/keys", "{\"name\":\"e2e\",\"tenant\":\"acme\",\"principal\":\"ada\"}")
        .json()
        .get("key")
        .asText();
  }
}
