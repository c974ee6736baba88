package dev.carrel.bench;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/** Programs beside the server: the floors and the peers. */
final class Processes {
  private Processes() {}

  static Optional<Path> find(String program) {
    // sbin is where Debian puts runc, and not always on a user's PATH.
    String path = Optional.ofNullable(System.getenv("PATH")).orElse("") + ":/usr/sbin:/sbin";
    return Arrays.stream(path.split(":"))
        .filter(folder -> !folder.isEmpty())
        .map(folder -> Path.of(folder, program))
        .filter(Files::isExecutable)
        .findFirst();
  }

  /** Runs to the end and returns what was printed; a failure is an exception with it. */
  static String run(List<String> command) throws IOException, InterruptedException {
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    process.getOutputStream().close();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    if (!process.waitFor(60, TimeUnit.SECONDS)) {
      process.destroyForcibly();
      throw new IOException(command + " did not end within 60 s");
    }
    if (process.exitValue() != 0) {
      throw new IOException(command + " ended with " + process.exitValue() + ": " + output.strip());
    }
    return output;
  }

  static Samples samples(List<String> command) throws IOException, InterruptedException {
    return Samples.of(run(command).lines().mapToLong(Long::parseLong).toArray());
  }
}
