package dev.carrel.cli;

import dev.carrel.sdk.Carrel;
import java.io.InputStream;
import java.util.Deque;
import java.util.Optional;
import java.util.concurrent.ConcurrentLinkedDeque;

/** One call of the command line: where it writes, and the server that it talks to. */
final class Session {
  private final Host host;
  private final Console console;
  private final Terminal terminal;
  private final InputStream in;

  Session(Host host, Console console, Terminal terminal, InputStream in) {
    this.host = host;
    this.console = console;
    this.terminal = terminal;
    this.in = in;
  }

  Host host() {
    return host;
  }

  Console console() {
    return console;
  }

  Terminal terminal() {
    return terminal;
  }

  InputStream in() {
    return in;
  }

  /** The caller's server, or this user's running one, or one of our own for this command. */
  Connection connect() {
    return server().map(Session::remote).orElseGet(() -> local(false));
  }

  /** As {@link #connect()}, but a server of our own keeps nothing afterwards. */
  Connection connectForOneRun() {
    return server().map(Session::remote).orElseGet(() -> local(true));
  }

  /** As {@link #connect()}, for what makes no sense with a server that ends with this command. */
  Connection connectToRunning() {
    return server()
        .map(Session::remote)
        .orElseThrow(() -> new CommandFailure("no server is running; start one: carrel serve"));
  }

  /**
   * The one or the other.
   *
   * @param running whether others must reach the server meanwhile, or afterwards
   */
  Connection connect(boolean running) {
    return running ? connectToRunning() : connect();
  }

  private Optional<Endpoint> server() {
    return host.namedServer().or(host::runningServer);
  }

  private static Connection remote(Endpoint endpoint) {
    return new Connection(endpoint);
  }

  private Connection local(boolean passing) {
    try (Progress _ = console.progress("starting a server for this command")) {
      LocalServer server = passing ? host.startPassingServer() : host.startServer();
      var connection = new Connection(server.endpoint());
      connection.beforeClosing(server::close);
      return connection;
    }
  }

  /**
   * A client, and what must be undone at its end: when it is closed, and also when a signal ends
   * this process.
   */
  static final class Connection implements AutoCloseable {
    private final Carrel carrel;
    private final Deque<Runnable> undo = new ConcurrentLinkedDeque<>();
    private final AtExit atExit = AtExit.run(this::undoAll);

    private Connection(Endpoint endpoint) {
      carrel = Carrel.connect(endpoint.address(), endpoint.token());
      undo.push(carrel::close);
    }

    Carrel carrel() {
      return carrel;
    }

    /** Later ones first. */
    void beforeClosing(Runnable action) {
      undo.push(action);
    }

    private void undoAll() {
      for (Runnable next = undo.poll(); next != null; next = undo.poll()) {
        next.run();
      }
    }

    @Override
    public void close() {
      atExit.close();
    }
  }
}
