package dev.carrel.dist;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.TimeUnit;

/** The packaged program, run as users run it, with all its state in one folder. */
final class Distribution {
  static final Path HOME =
      Path.of(System.getProperty("carrel.root", ".."), "dist/target/carrel").toAbsolutePath();
  private static final int PATIENCE_SECONDS = 120;

  private final Path folder;
  private final List<Running> all = new ArrayList<>();

  Distribution(Path folder) {
    this.folder = folder;
  }

  /** What a process left. */
  record Ended(int code, String out, String err) {}

  static String program() {
    return HOME.resolve("bin/carrel").toString();
  }

  /** Runs a command to its end. */
  Ended run(List<String> command) throws IOException, InterruptedException {
    Running running = start(command);
    return running.await();
  }

  Ended carrel(String... arguments) throws IOException, InterruptedException {
    var command = new ArrayList<>(List.of(program()));
    command.addAll(List.of(arguments));
    return run(command);
  }

  Running start(List<String> command) throws IOException {
    Path out = Files.createTempFile(folder, "out", ".txt");
    Path err = Files.createTempFile(folder, "err", ".txt");
    // Whoever runs the tests in the background ignores Ctrl-C, and so would what they start.
    var started = new ArrayList<>(List.of("env", "--default-signal=INT"));
    started.addAll(command);
    ProcessBuilder builder =
        new ProcessBuilder(started)
            .redirectInput(new File("/dev/null"))
            .redirectOutput(out.toFile())
            .redirectError(err.toFile());
    Map<String, String> environment = builder.environment();
    environment.keySet().removeIf(name -> name.startsWith("CARREL_"));
    environment.put("JAVA_HOME", System.getProperty("java.home"));
    environment.put("CARREL_SERVER_PORT", "0");
    environment.put("CARREL_STORAGE_DATA_DIRECTORY", data().toString());
    environment.put("CARREL_ENGINE_DEFAULT", "process");
    environment.put("CARREL_ENGINE_ALLOWED", "process");
    var running = new Running(builder.start(), out, err);
    all.add(running);
    return running;
  }

  /** Ends what a test that failed has left running. */
  void endAll() {
    all.forEach(running -> running.process().destroy());
  }

  Path data() {
    return folder.resolve("data");
  }

  /** A process that is not waited for yet. */
  record Running(Process process, Path out, Path err) {
    Ended await() throws IOException, InterruptedException {
      if (!process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
        process.destroyForcibly();
        throw new AssertionError("still running: " + Files.readString(out) + Files.readString(err));
      }
      return new Ended(process.exitValue(), Files.readString(out), Files.readString(err));
    }

    /** Waits until standard output has {@code text}. */
    void awaitOutput(String text) throws IOException, InterruptedException {
      await(out, text);
    }

    /** Waits until standard error has {@code text}. */
    void awaitError(String text) throws IOException, InterruptedException {
      await(err, text);
    }

    private void await(Path file, String text) throws IOException, InterruptedException {
      long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
      while (!Files.readString(file).contains(text)) {
        if (System.nanoTime() > end || process.waitFor(20, TimeUnit.MILLISECONDS)) {
          throw new AssertionError(
              "no '" + text + "' in " + Files.readString(out) + Files.readString(err));
        }
      }
    }

    void signal(String name) throws IOException, InterruptedException {
      new ProcessBuilder("kill", "-" + name, Long.toString(process.pid())).start().waitFor();
    }
  }

  /** The address that a running server published. */
  String address() throws IOException {
    var endpoint = new Properties();
    try (var reader = Files.newBufferedReader(data().resolve("endpoint"))) {
      endpoint.load(reader);
    }
    return endpoint.getProperty("address");
  }
}
