package dev.carrel.guest;

import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.ExecId;
import dev.carrel.spi.Machine;
import dev.carrel.spi.SandboxException;
import java.io.IOException;
import java.net.SocketException;
import java.nio.channels.ByteChannel;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * The guest of one sandbox, as the host talks to it. Every call opens a connection of its own and
 * blocks; many threads may call at once. Nothing the guest says is trusted: what breaks the
 * protocol, and what does not come in time, is a {@code GUEST_LOST}.
 */
public final class Guest {
  private static final int MAX_EXECS = 10_000;

  // A platform thread waits for room in a Unix socket's queue. For a virtual thread the JDK
  // connects
  // without blocking, which fails at once, and there is nothing to poll: it has to be tried again.
  private static final String QUEUE_FULL = "Resource temporarily unavailable";
  private static final long QUEUE_PAUSE = TimeUnit.MILLISECONDS.toNanos(1);

  private final GuestConnector connector;
  private final GuestSettings settings;

  public Guest(GuestConnector connector, GuestSettings settings) {
    this.connector = connector;
    this.settings = settings;
  }

  public static Guest of(Machine machine) {
    return new Guest(machine::openGuest, GuestSettings.DEFAULT);
  }

  public GuestInfo ping() {
    return ask(
        new Request(Wire.PING),
        ErrorCode.ENGINE_FAILED,
        "ping",
        answer -> {
          Fields ok = answer.expect(Wire.OK);
          return new GuestInfo(
              (int) ok.integer(10, 1, Integer.MAX_VALUE),
              Duration.ofMillis(ok.natural(11)),
              (int) ok.integer(12, 0, Integer.MAX_VALUE));
        });
  }

  /**
   * Starts a program. Returns when it runs, or could not be started: then the session has an Exited
   * alone.
   */
  public ExecSession exec(ExecId id, ExecRequest request) {
    Connection connection = connect(ExecFrames.exec(id, request));
    return ExecSession.begin(this, connection, id, request);
  }

  /**
   * Joins a running or retained exec.
   *
   * @param from offset of the first output byte wanted; what is no longer kept comes as a Gap
   */
  public ExecSession attach(ExecId id, long from) {
    return attach(id, ExecFrames.attach(id).put(11, from));
  }

  /** Joins a running or retained exec for what comes from now on. */
  public ExecSession attachAtEnd(ExecId id) {
    return attach(id, ExecFrames.attach(id));
  }

  private ExecSession attach(ExecId id, Request request) {
    return ExecSession.join(this, connect(request), id);
  }

  /**
   * Signals an exec, whoever is attached to it.
   *
   * @throws SandboxException {@code EXEC_NOT_FOUND} when it has ended and is not retained
   */
  public void signal(ExecId id, int signal, SignalScope scope) {
    Checks.range("signal", signal, 1, ExecFrames.MAX_SIGNAL);
    ask(
        new Request(Wire.SIGNAL_EXEC)
            .put(10, "exec_id", id.value())
            .put(11, signal)
            .put(12, scope.wire()),
        ErrorCode.EXEC_NOT_FOUND,
        "exec " + id,
        answer -> answer.expect(Wire.OK));
  }

  /** Execs that run or are retained. */
  public List<ExecInfo> list() {
    return ask(
        new Request(Wire.LIST),
        ErrorCode.ENGINE_FAILED,
        "list of execs",
        answer -> answer.items(Wire.EXEC_INFO, MAX_EXECS, ExecFrames::info));
  }

  /** Drops a retained exec that has ended. */
  public void forget(ExecId id) {
    ask(
        new Request(Wire.FORGET).put(10, "exec_id", id.value()),
        ErrorCode.EXEC_NOT_FOUND,
        "exec " + id,
        answer -> answer.expect(Wire.OK));
  }

  /** Ends all processes, politely first, and then the guest itself. */
  public void shutdown(Duration grace) {
    ask(
        new Request(Wire.SHUTDOWN).put(10, grace.toMillis()),
        ErrorCode.ENGINE_FAILED,
        "shutdown",
        answer -> {
          answer.connection().deadline().suspend(grace.toNanos());
          return answer.expect(Wire.OK);
        });
  }

  public GuestFiles files() {
    return new GuestFiles(this, null);
  }

  /** A connection to 127.0.0.1 and this port inside the sandbox. */
  public Tunnel tunnel(int port) {
    Checks.range("port", port, 1, 65535);
    Connection connection = connect(new Request(Wire.TUNNEL).put(10, port));
    return begin(
        connection,
        new Answer(connection, ErrorCode.WRONG_STATE, "port " + port),
        answer -> {
          answer.expect(Wire.OK);
          connection.deadline().close();
          return new Tunnel(connection);
        });
  }

  /** One request with an answer that ends, and the connection with it. */
  <T> T ask(Request request, ErrorCode absent, String subject, Answer.Reader<T> reader) {
    try (Connection connection = connect(request)) {
      return begin(connection, new Answer(connection, absent, subject), reader);
    }
  }

  /** As {@link #ask}, for what may keep the guest at work for a long time without a word. */
  <T> T order(Request request, ErrorCode absent, String subject, Answer.Reader<T> reader) {
    return ask(
        request,
        absent,
        subject,
        answer -> {
          answer.connection().deadline().suspend(settings.work().toNanos());
          return reader.read(answer);
        });
  }

  Duration work() {
    return settings.work();
  }

  /** Reads what comes first on a connection; closes it when that fails. */
  static <T> T begin(Connection connection, Answer answer, Answer.Reader<T> reader) {
    try {
      return reader.read(answer);
    } catch (IOException e) {
      throw connection.lost(e);
    } catch (SandboxException e) {
      connection.close();
      throw e;
    }
  }

  /** Opens a connection and sends the request on it. */
  Connection connect(Request request) {
    String token = settings.token();
    if (token != null) {
      request.put(Wire.TAG_TOKEN, "token", token);
    }
    var connection = new Connection(open(), settings.patience());
    try {
      connection.open(request);
    } catch (IOException e) {
      // A guest that will not have the request may have said why before it hung up; if not, the
      // reader finds the end.
      if (connection.deadline().passed()) {
        throw connection.lost(e);
      }
    }
    return connection;
  }

  private ByteChannel open() {
    var opening = new Deadline.Opening(settings.patience().toNanos());
    try (opening) {
      while (true) {
        try {
          return connector.open();
        } catch (SocketException e) {
          if (!QUEUE_FULL.equals(e.getMessage()) || Thread.currentThread().isInterrupted()) {
            throw e;
          }
          LockSupport.parkNanos(QUEUE_PAUSE);
        }
      }
    } catch (IOException e) {
      String reason =
          opening.passed()
              ? "the guest took no connection for " + settings.patience().toMillis() + " ms"
              : "no connection to the guest: " + e;
      throw new SandboxException(ErrorCode.GUEST_LOST, reason, e);
    }
  }
}
