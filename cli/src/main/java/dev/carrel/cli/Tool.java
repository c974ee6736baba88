package dev.carrel.cli;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * A program of the host that Carrel uses when it is there.
 *
 * @param purpose what it is good for
 * @param probe prints its version
 * @param remedy the command that adds it
 */
record Tool(String name, String purpose, List<String> probe, String remedy) {
  private static final int LONGEST_VERSION = 48;
  private static final int PATIENCE_SECONDS = 10;

  static final List<Tool> ALL =
      List.of(
          new Tool("python3", "Python code", List.of("python3", "--version"), apt("python3")),
          new Tool(
              "IPython",
              "%magics and !commands in Python",
              List.of("python3", "-c", "import IPython; print(IPython.__version__)"),
              apt("python3-ipython")),
          new Tool("node", "JavaScript code", List.of("node", "--version"), apt("nodejs")),
          new Tool("Rscript", "R code", List.of("Rscript", "--version"), apt("r-base-core")),
          new Tool("bash", "shell code", List.of("bash", "--version"), apt("bash")),
          new Tool(
              "newuidmap",
              "an id range for each sandbox without root",
              List.of("sh", "-c", "command -v newuidmap"),
              apt("uidmap")),
          new Tool(
              "mke2fs",
              "files that outlive their sandbox, with root",
              List.of("sh", "-c", "PATH=$PATH:/usr/sbin:/sbin command -v mke2fs"),
              apt("e2fsprogs")),
          new Tool("runc", "a peer in bench", List.of("runc", "--version"), apt("runc")),
          new Tool(
              "docker",
              "the engine docker, and a peer in bench",
              List.of("docker", "version", "--format", "{{.Server.Version}}"),
              apt("docker.io") + ", then start it"));

  private static String apt(String packageName) {
    return "sudo apt-get install " + packageName;
  }

  /** The first line that the probe prints, or empty when it is not there or does not answer. */
  Optional<String> version() {
    try {
      Process process =
          new ProcessBuilder(probe)
              .redirectErrorStream(true)
              .redirectInput(new File("/dev/null"))
              .start();
      // Short answers fit the pipe, so the end may be awaited before they are read.
      if (!process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
        process.destroyForcibly();
        return Optional.empty();
      }
      String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      String line = output.lines().findFirst().orElse("").strip();
      return process.exitValue() == 0
          ? Optional.of(line.substring(0, Math.min(line.length(), LONGEST_VERSION)))
          : Optional.empty();
    } catch (IOException notThere) {
      return Optional.empty();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return Optional.empty();
    }
  }
}
