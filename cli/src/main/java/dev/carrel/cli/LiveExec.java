package dev.carrel.cli;

import dev.carrel.sdk.CarrelException;
import dev.carrel.sdk.ErrorCode;
import dev.carrel.sdk.ExecEvent;
import dev.carrel.sdk.ExecOptions;
import dev.carrel.sdk.ExecStream;
import dev.carrel.sdk.Sandbox;
import dev.carrel.sdk.SignedArtifacts;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Shows a running command in this terminal: output as it comes, keys and signals the other way. The
 * first Ctrl-C interrupts the command, the second kills it, the third leaves.
 */
final class LiveExec {
  private static final int CHUNK = 64 * 1024;

  /** What a server allows unless it was told otherwise. */
  private static final Duration LONG = Duration.ofHours(1);

  private final Session session;

  LiveExec(Session session) {
    this.session = session;
  }

  /** Where output goes, and what is made of the end. */
  interface Sink {
    void output(ExecEvent.Output output);

    void exited(ExecEvent.Exited exited);

    /** After the end: so much output is missing. Whether that makes a failure of a success. */
    boolean missing(long bytes);
  }

  /**
   * Starts a command.
   *
   * @param timeout null: as long as the server lets a command run
   */
  ExecStream start(Sandbox sandbox, ExecOptions options, @Nullable Double timeout) {
    if (timeout != null) {
      return sandbox.execStream(options.withTimeout(Duration.ofMillis(Math.round(timeout * 1000))));
    }
    try {
      return sandbox.execStream(options.withTimeout(LONG));
    } catch (CarrelException e) {
      // This server allows less; its own default is all that is known to be allowed.
      if (e.field().equals(Optional.of("timeout_seconds"))) {
        return sandbox.execStream(options);
      }
      throw e;
    }
  }

  /** Follows to the end; returns the command's exit code. */
  int follow(ExecStream exec, boolean stdin, Sink sink) {
    var interrupts = new AtomicInteger();
    try (Signals.Handling _ = Signals.handle("INT", () -> interrupt(exec, interrupts))) {
      if (stdin) {
        feed(exec, session.in());
      }
      return read(exec, sink);
    }
  }

  /** As {@link #follow}, with the terminal in raw mode: every key belongs to the command. */
  int followInTerminal(ExecStream exec, Sink sink) {
    Terminal terminal = session.terminal();
    try (AtExit _ = terminal.enterRawMode();
        Signals.Handling _ = Signals.handle("WINCH", () -> resize(exec, terminal))) {
      feed(exec, session.in());
      return read(exec, sink);
    }
  }

  /** As {@link #followInTerminal}, until the key is typed that leaves the command running. */
  int followUntilLeft(ExecStream exec, Sink sink, Runnable onLeave) {
    Terminal terminal = session.terminal();
    try (AtExit restore = terminal.enterRawMode();
        Signals.Handling _ = Signals.handle("WINCH", () -> resize(exec, terminal))) {
      resize(exec, terminal);
      Runnable leave =
          () -> {
            restore.early();
            onLeave.run();
            System.exit(0);
          };
      feed(exec, new LeavingInput(session.in(), leave));
      return read(exec, sink);
    }
  }

  /** The terminal's size for a command that gets one. */
  ExecOptions.TerminalSize terminalSize() {
    Terminal.Size size = session.terminal().size();
    return new ExecOptions.TerminalSize(size.rows(), size.columns());
  }

  private static int read(ExecStream exec, Sink sink) {
    long missing = 0;
    for (ExecEvent event : exec) {
      switch (event) {
        case ExecEvent.Queued _ -> {}
        case ExecEvent.Started _ -> {}
        case ExecEvent.Gap gap -> missing += gap.bytes();
        case ExecEvent.Output output -> sink.output(output);
        case ExecEvent.Exited exited -> {
          sink.exited(exited);
          boolean lost = missing > 0 && sink.missing(missing);
          return lost && exited.exitCode() == 0 ? Cli.FAILED : exited.exitCode();
        }
      }
    }
    throw new CommandFailure("the connection ended before the command did");
  }

  // A daemon: a read from a terminal cannot be called off, and must not keep the program alive.
  private static void feed(ExecStream exec, InputStream in) {
    Thread.ofPlatform().daemon().name("stdin").start(() -> pump(exec, in));
  }

  private static void pump(ExecStream exec, InputStream in) {
    byte[] buffer = new byte[CHUNK];
    try {
      for (int n = in.read(buffer); n >= 0; n = in.read(buffer)) {
        exec.write(buffer, n);
      }
      exec.closeStdin();
    } catch (IOException noMoreInput) {
      exec.closeStdin();
    } catch (CarrelException e) {
      // The command may end, or close its input, before ours is all read. Anything worse shows in
      // the events, which the main thread reads.
      return;
    }
  }

  private static void interrupt(ExecStream exec, AtomicInteger interrupts) {
    try {
      switch (interrupts.incrementAndGet()) {
        case 1 -> exec.signal("SIGINT");
        case 2 -> exec.kill();
        default -> System.exit(Cli.INTERRUPTED);
      }
    } catch (CarrelException e) {
      if (e.code() == ErrorCode.UNREACHABLE) {
        System.exit(Cli.INTERRUPTED);
      }
      // Otherwise it has ended by itself just now.
    }
  }

  private static void resize(ExecStream exec, Terminal terminal) {
    Terminal.Size size = terminal.size();
    try {
      exec.resize(size.rows(), size.columns());
    } catch (CarrelException endedMeanwhile) {
      return;
    }
  }

  /** The command's streams go to ours, byte for byte. */
  Sink streams() {
    return streams(true);
  }

  /** As {@link #streams}, of a screen: what has gone from it is not missed. */
  Sink screen() {
    return streams(false);
  }

  private Sink streams(boolean whole) {
    Console console = session.console();
    return new Sink() {
      @Override
      public void output(ExecEvent.Output output) {
        PrintStream stream =
            switch (output.channel()) {
              case STDOUT -> console.out();
              case STDERR -> console.err();
            };
        stream.write(output.bytes(), 0, output.bytes().length);
        Console.requireRead(stream);
      }

      @Override
      public void exited(ExecEvent.Exited exited) {
        explain(console, exited);
      }

      @Override
      public boolean missing(long bytes) {
        if (whole) {
          console.error(bytes + " bytes of its output are missing: they were no longer kept");
        }
        return whole;
      }
    };
  }

  /** Says on standard error what the exit code alone does not. */
  static void explain(Console console, ExecEvent.Exited exited) {
    String text =
        switch (exited.cause()) {
          case "returned", "signalled", "killed" -> null;
          case "not_started" -> "could not be started" + suffix(exited.message());
          case "timed_out" -> "timed out after %.1f s; killed".formatted(seconds(exited));
          case "out_of_memory" -> "killed: it used more memory than the sandbox has";
          case "pids_limit" -> "failed: the sandbox's limit of processes is reached";
          case "crashed" -> "crashed with signal " + exited.signal();
          default -> "ended: " + exited.cause();
        };
    if (text != null) {
      console.error(text);
      if (exited.hint() != null) {
        console.hint(exited.hint());
      }
    }
    exited.artifactsSkipped().forEach(one -> console.note(notSigned(console, one)));
  }

  static String notSigned(Console console, SignedArtifacts.Skipped one) {
    return "not signed: " + console.safe(one.path()) + ": " + console.safe(one.reason());
  }

  private static double seconds(ExecEvent.Exited exited) {
    return exited.durationMs() / 1000;
  }

  private static String suffix(@Nullable String message) {
    return message == null ? "" : ": " + message;
  }
}
