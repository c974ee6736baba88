package dev.carrel.bench;

import java.io.IOException;
import java.io.Reader;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** A server of a distribution, started as users start it, with all its state in one folder. */
public final class ServerProcess implements AutoCloseable {
  /** The setting that says where its sockets are; without it they are in the folder too. */
  static final String RUN = "CARREL_STORAGE_RUN_DIRECTORY";

  private static final Duration PATIENCE = Duration.ofMinutes(2);

  private final Process process;
  private final Path run;
  private final Path volumes;
  private final double startMillis;
  private final Properties endpoint;

  private ServerProcess(
      Process process, Path folder, Path run, double startMillis, Properties endpoint) {
    this.process = process;
    this.run = run;
    this.volumes = folder.resolve("data/volumes");
    this.startMillis = startMillis;
    this.endpoint = endpoint;
  }

  /**
   * Returns once it answers.
   *
   * @param home the distribution's folder
   * @param settings variables such as {@code CARREL_ENGINE_DEFAULT}
   */
  public static ServerProcess start(Path home, Path folder, Map<String, String> settings)
      throws IOException, InterruptedException {
    ProcessBuilder builder = program(home, folder, settings, "serve");
    Path log = folder.resolve("server.log");
    builder
        .redirectErrorStream(true)
        .redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile()));
    long start = System.nanoTime();
    Process process = builder.start();
    process.getOutputStream().close();
    try {
      Properties endpoint = awaitEndpoint(process, folder, log);
      double taken = (System.nanoTime() - start) / 1e6;
      return new ServerProcess(
          process, folder, Path.of(builder.environment().get(RUN)), taken, endpoint);
    } catch (IOException | InterruptedException failure) {
      process.destroyForcibly();
      throw failure;
    }
  }

  /** A command of the distribution, with all its state in the folder unless a setting says else. */
  static ProcessBuilder program(
      Path home, Path folder, Map<String, String> settings, String command) throws IOException {
    var builder = new ProcessBuilder(home.resolve("bin/carrel").toString(), command);
    Files.createDirectories(folder);
    Map<String, String> environment = builder.environment();
    environment.keySet().removeIf(name -> name.startsWith("CARREL_"));
    environment.putAll(settings);
    environment.put("JAVA_HOME", System.getProperty("java.home"));
    environment.putIfAbsent("CARREL_SERVER_PORT", "0");
    environment.put("CARREL_STORAGE_DATA_DIRECTORY", folder.resolve("data").toString());
    environment.putIfAbsent(RUN, folder.resolve("run").toString());
    return builder;
  }

  private static Properties awaitEndpoint(Process process, Path folder, Path log)
      throws IOException, InterruptedException {
    Path file = folder.resolve("data/endpoint");
    Instant end = Instant.now().plus(PATIENCE);
    while (Instant.now().isBefore(end)) {
      Properties endpoint = new Properties();
      try (Reader reader = Files.newBufferedReader(file)) {
        endpoint.load(reader);
      } catch (NoSuchFileException notYet) {
        // Nor is it there when a server that takes the folder has removed what a killed one left.
      }
      // A server that was killed leaves its file behind until the next one takes the folder.
      if (String.valueOf(process.pid()).equals(endpoint.getProperty("pid"))) {
        return endpoint;
      }
      if (process.waitFor(5, TimeUnit.MILLISECONDS)) {
        throw new IOException(
            "the server ended with " + process.exitValue() + ": " + Files.readString(log));
      }
    }
    throw new IOException(
        "the server did not answer within " + PATIENCE + ": " + Files.readString(log));
  }

  public URI address() {
    return URI.create(endpoint.getProperty("address"));
  }

  /** Where it serves gRPC. */
  public URI grpc() {
    return URI.create(endpoint.getProperty("grpc"));
  }

  public String token() throws IOException {
    return Files.readString(Path.of(endpoint.getProperty("token-file")))
        .lines()
        .findFirst()
        .orElseThrow()
        .strip();
  }

  public Path runDirectory() {
    return run;
  }

  Path volumeDirectory() {
    return volumes;
  }

  double startMillis() {
    return startMillis;
  }

  HttpConnection connect() throws IOException {
    return new HttpConnection(address(), token());
  }

  double residentMebibytes() throws IOException {
    return Files.readAllLines(Path.of("/proc", String.valueOf(process.pid()), "status")).stream()
        .filter(line -> line.startsWith("VmRSS:"))
        .mapToDouble(line -> Double.parseDouble(line.replaceAll("\\D+", "")) / 1024)
        .sum();
  }

  /** How often its threads gave a processor to another, the compilers left out. */
  long switches() throws IOException {
    long sum = 0;
    try (Stream<Path> threads =
        Files.list(Path.of("/proc", String.valueOf(process.pid()), "task"))) {
      for (Path thread : threads.toList()) {
        sum += switches(thread);
      }
    }
    return sum;
  }

  private static long switches(Path thread) {
    try {
      return Files.readString(thread.resolve("comm")).matches("(?s)C[12] Compiler.*")
          ? 0
          : Files.readAllLines(thread.resolve("status")).stream()
              .filter(line -> line.contains("ctxt_switches:"))
              .mapToLong(line -> Long.parseLong(line.replaceAll("\\D+", "")))
              .sum();
    } catch (IOException gone) {
      return 0;
    }
  }

  /** Open files of the server and of what makes its sandboxes. */
  int descriptors() throws IOException {
    int count = 0;
    for (Path process : Memory.processes()) {
      if (isOwn(process)) {
        try (Stream<Path> open = Files.list(process.resolve("fd"))) {
          count += (int) open.count();
        }
      }
    }
    return count;
  }

  private boolean isOwn(Path process) {
    try {
      return process.endsWith(String.valueOf(this.process.pid()))
          || Files.readString(process.resolve("cmdline"))
              .replace('\0', ' ')
              .contains(" spawn --run " + runDirectory() + " ");
    } catch (IOException gone) {
      return false;
    }
  }

  /** Whether it has not ended, by itself or otherwise. */
  public boolean runs() {
    return process.isAlive();
  }

  /** As kill −9 does: nothing is said to the server. */
  public void kill() {
    process.destroyForcibly();
    process.onExit().join();
  }

  /** Ends it as Ctrl-C does; its sandboxes live on. */
  @Override
  public void close() {
    process.destroy();
    try {
      process.onExit().orTimeout(15, TimeUnit.SECONDS).join();
    } catch (CompletionException tooSlow) {
      kill();
    }
  }
}
