package dev.carrel.engine.docker;

import dev.carrel.spi.Workshop;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Consumer;

/** One container that something is built in. */
final class DockerBench implements Workshop.Bench {
  private static final Duration SETTLE = Duration.ofSeconds(30);
  private static final Duration READ = Duration.ofMinutes(2);
  private static final Duration EXPORT = Duration.ofHours(1);

  private final Daemon daemon;
  private final String name;
  private final Runnable removed;

  DockerBench(Daemon daemon, String name, Runnable removed) {
    this.daemon = daemon;
    this.name = name;
    this.removed = removed;
  }

  @Override
  public Optional<InputStream> read(String path) throws IOException {
    try {
      return Optional.of(new Body(daemon.read(name, path), READ));
    } catch (DaemonException e) {
      if (e.isNotFound()) {
        return Optional.empty();
      }
      throw e;
    }
  }

  @Override
  public void write(byte[] tar) throws IOException {
    daemon.write(name, tar);
  }

  @Override
  public int run(Consumer<String> said, Duration most) throws IOException {
    daemon.start(name);
    try (DaemonSocket.Stream output = daemon.follow(name, most)) {
      var deadline = new DaemonSocket.Deadline(output.channel(), most);
      try (deadline) {
        LogFrames.lines(output.body(), said);
      } catch (IOException e) {
        throw deadline.isOver()
            ? new IOException("it did not end in " + most.toMinutes() + " minutes", e)
            : e;
      }
    }
    return status();
  }

  /** The daemon may tell the last line before it knows of the end. */
  private int status() throws IOException {
    int status = daemon.awaitEnd(name, SETTLE);
    if (daemon.state(name).path("OOMKilled").asBoolean()) {
      throw new IOException("the container was killed for want of memory");
    }
    return status;
  }

  @Override
  public InputStream export() throws IOException {
    return new Body(daemon.export(name), EXPORT);
  }

  /** Also for a thread that was interrupted: nothing else would remove it while we live. */
  @Override
  public void close() throws IOException {
    boolean interrupted = Thread.interrupted();
    try {
      Remains.removeContainer(daemon, name);
    } finally {
      removed.run();
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** What comes of an answer; nobody waits for it longer than so. */
  private static final class Body extends FilterInputStream {
    private final DaemonSocket.Stream answer;
    private final DaemonSocket.Deadline deadline;

    Body(DaemonSocket.Stream answer, Duration most) {
      super(answer.body());
      this.answer = answer;
      this.deadline = new DaemonSocket.Deadline(answer.channel(), most);
    }

    @Override
    public void close() throws IOException {
      deadline.close();
      answer.close();
    }
  }
}
