package dev.carrel.e2e.functional;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * A program with packages of others, in a folder that is kept between runs: what a package manager
 * has fetched need not be fetched again.
 */
final class ClientProgram {
  private static final long MINUTES = 5;

  private final Path folder;

  ClientProgram(String name) throws Exception {
    Path root = Path.of(System.getProperty("carrel.root"), "e2e", "target", "clients");
    folder = Files.createDirectories(root.resolve(name));
  }

  String file(String name) {
    return folder.resolve(name).toString();
  }

  /** Puts a file of the tests there. */
  void copy(String name) throws Exception {
    try (InputStream program = ClientProgram.class.getResourceAsStream("/clients/" + name)) {
      Files.write(folder.resolve(name), program.readAllBytes());
    }
  }

  void write(String name, String content) throws Exception {
    Files.writeString(folder.resolve(name), content);
  }

  void succeed(String... command) throws Exception {
    assertThat(run(List.of(command))).as(String.join(" ", command)).endsWith("exit 0");
  }

  /** What it said, and how it ended. */
  String run(List<String> command) throws Exception {
    Path log = Files.createTempFile("client", ".log");
    Process process =
        new ProcessBuilder(command)
            .directory(folder.toFile())
            .redirectErrorStream(true)
            .redirectOutput(log.toFile())
            .start();
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
