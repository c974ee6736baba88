package dev.carrel.engine.namespaces;

import dev.carrel.spi.Alarm;
import dev.carrel.spi.EngineSettings;
import dev.carrel.spi.Text;
import dev.carrel.spi.WarmSettings;
import java.io.IOException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.ClosedChannelException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * The way to the spawn server of one run directory. Starts it when nobody answers there, replaces
 * it when it is of another build, and keeps a few connections. Safe for many threads.
 *
 * <p>After {@link #close} it can still be asked, once per connection: machines outlive their
 * engine.
 */
final class SpawnServer implements AutoCloseable {
  static final Duration ANSWER = Duration.ofSeconds(30);

  /** For what copies files. */
  private static final Duration LONG_ANSWER = Duration.ofMinutes(10);

  private static final Duration START = Duration.ofSeconds(15);
  private static final int ATTEMPTS = 5;
  private static final int MAX_KEPT = 8;

  /** Fewer than the connections that the server accepts, which other processes may need too. */
  private static final int MAX_REQUESTS = 64;

  /** Of one kind that may take long, so that all others find slots meanwhile. */
  static final int MAX_LONG = 16;

  /** For a turn to copy, where others copy for as long as a disk takes. */
  private static final Duration LONG_WAIT = Duration.ofMinutes(5);

  /** For a turn to change limits: with the time that it may take less than callers wait. */
  private static final Duration LIMIT_WAIT = Duration.ofSeconds(1);

  private final Duration answer;
  private final Path runDirectory;
  private final Path libDirectory;
  private final Path volumeDirectory;
  private final WarmSettings warm;
  private final Path socket;
  private final ConcurrentLinkedDeque<SpawnConnection> kept = new ConcurrentLinkedDeque<>();
  private final Semaphore slots = new Semaphore(MAX_REQUESTS, true);
  private final Map<Integer, Semaphore> longSlots =
      Map.of(
          Frame.VOLUME_COPY, new Semaphore(MAX_LONG, true),
          Frame.LIMIT, new Semaphore(MAX_LONG, true));
  private final ReentrantLock starting = new ReentrantLock();
  private volatile @Nullable String build;

  /** Of the one that was spoken to last; 0: none. */
  private volatile long pid;

  private volatile boolean closed;

  SpawnServer(EngineSettings settings) {
    this(settings, ANSWER);
  }

  /**
   * @param answer how long to wait for one, unless the request is a long one
   */
  SpawnServer(EngineSettings settings, Duration answer) {
    this.answer = answer;
    this.runDirectory = settings.runDirectory().toAbsolutePath().normalize();
    this.libDirectory = settings.libDirectory().toAbsolutePath().normalize();
    this.volumeDirectory = settings.volumeDirectory().toAbsolutePath().normalize();
    this.warm = settings.warm();
    this.socket = runDirectory.resolve("spawn.sock");
  }

  /**
   * Sends one request and returns its answers: any listing, and last what ends it.
   *
   * @param undo what to ask first when a server ended over the request and it is made again
   */
  List<Frame> ask(Frame request, Optional<Frame> undo) throws IOException {
    Semaphore few = longSlots.get(request.type());
    if (few == null) {
      return askInTurn(request, undo);
    }
    take(few, MAX_LONG, request.type() == Frame.VOLUME_COPY ? LONG_WAIT : LIMIT_WAIT);
    try {
      return askInTurn(request, undo);
    } finally {
      few.release();
    }
  }

  private List<Frame> askInTurn(Frame request, Optional<Frame> undo) throws IOException {
    take(slots, MAX_REQUESTS, answer);
    try {
      return askNow(request, undo);
    } finally {
      slots.release();
    }
  }

  private static void take(Semaphore free, int most, Duration wait) throws IOException {
    try {
      if (!free.tryAcquire() && !free.tryAcquire(wait.toNanos(), TimeUnit.NANOSECONDS)) {
        throw new IOException(
            "%d requests to the spawn server are under way, and none was done in %d ms"
                .formatted(most, wait.toMillis()));
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted before the spawn server was asked", e);
    }
  }

  private List<Frame> askNow(Frame request, Optional<Frame> undo) throws IOException {
    for (var connection = kept.pollFirst(); connection != null; connection = kept.pollFirst()) {
      try {
        return exchange(connection, request);
      } catch (ClosedByInterruptException e) {
        throw e;
      } catch (ClosedChannelException e) {
        throw silent(patience(request), e);
      } catch (IOException e) {
        // The server that this connection was kept for has ended. Its sandboxes live on.
        if (undo.isPresent()) {
          exchange(connect(), undo.get());
        }
      }
    }
    SpawnConnection connection = connect();
    try {
      return exchange(connection, request);
    } catch (ClosedByInterruptException e) {
      throw e;
    } catch (ClosedChannelException e) {
      throw silent(patience(request), e);
    }
  }

  /** It may be stopped, or wait for a disk: to end it loses nothing, and only a person can tell. */
  private IOException silent(Duration time, IOException cause) {
    String process = pid == 0 ? "" : " (process " + pid + ")";
    return new IOException(
        "the spawn server%s gave no answer in %d ms; if it hangs, kill it: sandboxes run on, and the next request starts another"
            .formatted(process, time.toMillis()),
        cause);
  }

  List<Frame> ask(Frame request) throws IOException {
    return ask(request, Optional.empty());
  }

  /** Ends the server if it has neither sandboxes nor other clients. */
  @Override
  public void close() {
    closed = true;
    for (var connection = kept.pollFirst(); connection != null; connection = kept.pollFirst()) {
      connection.close();
    }
    try {
      leaveIfIdle(SpawnConnection.open(socket));
    } catch (IOException e) {
      // It has ended before us, which is what we wanted.
    }
  }

  private List<Frame> exchange(SpawnConnection connection, Frame request) throws IOException {
    boolean reusable = false;
    try (var _ = Alarm.after(patience(request), connection::close)) {
      connection.send(request);
      var answers = new ArrayList<Frame>();
      do {
        answers.add(connection.receive());
      } while (isListed(request, answers.getLast()));
      reusable = !closed && kept.size() < MAX_KEPT;
      if (closed) {
        leaveIfIdle(connection);
      }
      return answers;
    } finally {
      if (reusable) {
        kept.addFirst(connection);
      } else {
        connection.close();
      }
    }
  }

  private static boolean isListed(Frame request, Frame answer) {
    return (request.type() == Frame.LIST && answer.type() == Frame.SANDBOX)
        || (request.type() == Frame.VOLUMES && answer.type() == Frame.VOLUME_IS);
  }

  private Duration patience(Frame request) {
    return request.type() == Frame.VOLUME_COPY ? LONG_ANSWER : answer;
  }

  private static void leaveIfIdle(SpawnConnection connection) throws IOException {
    try (connection;
        var _ = Alarm.after(ANSWER, connection::close)) {
      connection.send(Frame.of(Frame.LEAVE).with(Frame.IF_IDLE, 1));
      if (connection.receive().findNumber(Frame.IF_IDLE).isPresent()) {
        connection.awaitEnd();
      }
    }
  }

  /** A connection to a server of our own build, started if need be. */
  private SpawnConnection connect() throws IOException {
    IOException last = new IOException("the spawn server does not answer");
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
      Optional<SpawnConnection> connection = Optional.empty();
      try {
        connection = Optional.of(SpawnConnection.open(socket, answer));
        if (greet(connection.get())) {
          return connection.get();
        }
      } catch (ClosedByInterruptException e) {
        throw e;
      } catch (ClosedChannelException e) {
        throw silent(answer, e);
      } catch (IOException e) {
        last = e;
      }
      connection.ifPresent(SpawnConnection::close);
      start();
    }
    throw last;
  }

  /** Whether it is of our build; one that is not has been asked to leave and has left. */
  private boolean greet(SpawnConnection connection) throws IOException {
    try (var _ = Alarm.after(answer, connection::close)) {
      connection.send(Frame.of(Frame.HELLO));
      Frame greeting = connection.receive();
      pid = greeting.findNumber(Frame.PID).orElse(0L);
      if (greeting.text(Frame.BUILD).equals(build())) {
        return true;
      }
      connection.send(Frame.of(Frame.LEAVE));
      connection.receive();
      connection.awaitEnd();
      return false;
    }
  }

  private void start() throws IOException {
    Files.createDirectories(
        runDirectory,
        PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
    var command = new ArrayList<>(List.of(program().toString(), "spawn"));
    command.addAll(options());
    command.addAll(List.of("--build", build()));
    var builder =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectInput(Path.of("/dev/null").toFile());
    String runtime = builder.environment().get("XDG_RUNTIME_DIR");
    builder.environment().clear();
    if (runtime != null) {
      builder.environment().put("XDG_RUNTIME_DIR", runtime);
    }
    boolean alone = false;
    try {
      alone = starting.tryLock(START.toMillis(), TimeUnit.MILLISECONDS);
      if (!alone) {
        throw new IOException("the spawn server did not start in " + START);
      }
      Process process = builder.start();
      if (!process.waitFor(START.toMillis(), TimeUnit.MILLISECONDS)) {
        process.destroyForcibly();
        throw new IOException("the spawn server did not start in " + START);
      }
      if (process.exitValue() != 0) {
        String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        throw new IOException("the spawn server ended: " + Text.printable(said.strip(), 500));
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted while the spawn server started", e);
    } finally {
      if (alone) {
        starting.unlock();
      }
    }
  }

  private Path program() {
    return libDirectory.resolve("guest");
  }

  private List<String> options() {
    return List.of(
        "--run",
        runDirectory.toString(),
        "--lib",
        libDirectory.toString(),
        "--volumes",
        volumeDirectory.toString(),
        "--zygote-forks",
        String.valueOf(warm.maxForks()),
        "--zygote-age-ms",
        String.valueOf(warm.maxAge().toMillis()),
        "--zygote-idle-ms",
        String.valueOf(warm.maxIdle().toMillis()));
  }

  /**
   * Tells apart builds of the guest program and of what zygotes have loaded, and servers that were
   * told other things: the folder of a version that was replaced may be gone.
   */
  String build() throws IOException {
    String known = build;
    if (known == null) {
      byte[] program = Files.readAllBytes(program());
      var sum = new CRC32C();
      sum.update(program);
      for (Path source : zygoteSources()) {
        sum.update(Files.readAllBytes(source));
      }
      sum.update(String.join("\0", options()).getBytes(StandardCharsets.UTF_8));
      known = program.length + "-" + Long.toHexString(sum.getValue());
      build = known;
    }
    return known;
  }

  private List<Path> zygoteSources() throws IOException {
    var found = new ArrayList<Path>();
    Path folder = libDirectory.resolve("kernels/python");
    if (Files.isDirectory(folder)) {
      addSources(folder, found);
    }
    Path library = libDirectory.resolve("preload/heir.so");
    if (Files.isRegularFile(library)) {
      found.add(library);
    }
    Collections.sort(found);
    return found;
  }

  // No stream: a server that starts would wait for what those load.
  private static void addSources(Path folder, List<Path> found) throws IOException {
    try (DirectoryStream<Path> entries = Files.newDirectoryStream(folder)) {
      for (Path entry : entries) {
        if (Files.isDirectory(entry)) {
          addSources(entry, found);
        } else if (entry.toString().endsWith(".py")) {
          found.add(entry);
        }
      }
    }
  }
}
