package dev.carrel.server.flat;

import com.fasterxml.jackson.annotation.JsonInclude;
import dev.carrel.control.Control;
import dev.carrel.control.exec.ExecStart;
import dev.carrel.control.exec.ExecStream;
import dev.carrel.control.exec.Execs;
import dev.carrel.server.http.EventStream;
import dev.carrel.server.http.Exchange;
import dev.carrel.server.http.Failure;
import dev.carrel.server.http.Fields;
import dev.carrel.server.tools.BackgroundLine;
import dev.carrel.spi.Command;
import dev.carrel.spi.ExecEvent;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import io.helidon.http.HeaderName;
import io.helidon.http.HeaderNames;
import java.io.IOException;
import java.time.Duration;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Lines of shell. */
final class ShellRoutes {
  private static final HeaderName WORKSPACE = HeaderNames.create("X-Workspace");
  private static final Duration USUAL = Duration.ofSeconds(30);
  private static final Duration USUAL_BACKGROUND = Duration.ofMinutes(10);
  private static final int MAX_MILLIS = 3_600_000;
  private static final Duration FOREVER = Duration.ofDays(3650);

  private final Control control;

  ShellRoutes(Control control) {
    this.control = control;
  }

  Envelope exec(FlatApi.Desk at) throws IOException, InterruptedException {
    Asked asked = Asked.of(at.exchange(), control.execs());
    SandboxId id = at.id();
    requireFolder(at, id, asked.folder);
    if (asked.background) {
      BackgroundLine begun = background(at, id, asked);
      return Envelope.of(new Result(begun.told(), 0, null, begun.file(), null));
    }
    at.exchange().cancelWhenClientLeaves();
    var said = new BothStreams((_, _) -> {});
    try (Running running = start(at, id, asked)) {
      ExecEvent.Exited end = follow(running.stream, said, null);
      boolean returned = end.cause() == ExecEvent.Cause.RETURNED;
      String error = returned ? null : end.cause().name().toLowerCase(Locale.ROOT);
      return Envelope.of(
          new Result(
              asked.output(said, end), end.code(), error, null, said.truncated() ? true : null));
    }
  }

  /** As {@link #exec}, line by line as they come. What is refused has a status of its own. */
  @Nullable Envelope stream(FlatApi.Desk at) throws IOException, InterruptedException {
    Asked asked = Asked.of(at.exchange(), control.execs());
    SandboxId id = at.id();
    requireFolder(at, id, asked.folder);
    long begun = System.nanoTime();
    if (asked.background) {
      BackgroundLine line = background(at, id, asked);
      var done = new Done(line.told(), 0, millisSince(begun), false, false, line.file());
      at.exchange().events().data(new Event("done", done));
      return null;
    }
    at.exchange().cancelWhenClientLeaves();
    try (Running running = start(at, id, asked)) {
      EventStream events = at.exchange().events();
      var said =
          new BothStreams(
              (source, line) -> events.data(new Event("chunk", new Chunk(line, source))));
      try {
        ExecEvent.Exited end = follow(running.stream, said, events);
        boolean late = end.cause() == ExecEvent.Cause.TIMED_OUT;
        events.data(
            new Event(
                "done",
                new Done(
                    asked.output(said, end),
                    end.code(),
                    millisSince(begun),
                    late,
                    said.truncated(),
                    null)));
      } catch (SandboxException e) {
        Failure.log(at.exchange(), e);
        events.data(new Event("error", new Failed(Envelope.told(e))));
      }
    }
    return null;
  }

  /** A shell as long as its WebSocket, in the folder that the header names. */
  @Nullable Envelope terminal(FlatApi.Desk at) throws InterruptedException {
    Map<String, String> headers = TerminalTalk.agreed(at.exchange());
    SandboxId sandbox = at.id();
    String folder = at.exchange().header(WORKSPACE).orElse(null);
    requireFolder(at, sandbox, folder);
    return TerminalTalk.hold(at, sandbox, headers, control.terminals(), folder);
  }

  private static long millisSince(long begun) {
    return Duration.ofNanos(System.nanoTime() - begun).toMillis();
  }

  private void requireFolder(FlatApi.Desk at, SandboxId id, @Nullable String folder) {
    if (folder != null) {
      control.files().requireFolder(at.caller(), id, folder);
    }
  }

  private BackgroundLine background(FlatApi.Desk at, SandboxId id, Asked asked)
      throws InterruptedException {
    var setting =
        new BackgroundLine.Setting(asked.folder, asked.variables, Duration.ofMillis(asked.millis));
    return BackgroundLine.start(control.execs(), at.caller(), id, asked.line, setting);
  }

  private Running start(FlatApi.Desk at, SandboxId id, Asked asked) throws InterruptedException {
    ExecStart start =
        ExecStart.shell(
            shell ->
                Command.of(shell, "-c", asked.line)
                    .withCwd(asked.folder)
                    .withEnvironment(asked.variables)
                    .withTimeout(Duration.ofMillis(asked.millis)));
    return new Running(at.exchange(), control.execs().start(at.caller(), id, start));
  }

  /**
   * Reads to the end.
   *
   * @param events kept alive meanwhile; null: there are none
   */
  private static ExecEvent.Exited follow(
      ExecStream stream, BothStreams said, @Nullable EventStream events)
      throws IOException, InterruptedException {
    Duration patience = events == null ? FOREVER : events.patience();
    for (ExecEvent event; (event = stream.next(patience)) != null; ) {
      if (event.equals(ExecStream.NOTHING)) {
        if (events != null) {
          events.keepAlive();
        }
        continue;
      }
      switch (event) {
        case ExecEvent.Output output -> said.add(output);
        case ExecEvent.Gap _ -> said.lost();
        case ExecEvent.Started _ -> {}
        case ExecEvent.Exited exited -> {
          said.end();
          return exited;
        }
      }
    }
    throw new IllegalStateException("a command ended without its end");
  }

  /** A command under way; closing it kills what still runs, which an interrupt would prevent. */
  private record Running(Exchange exchange, ExecStream stream) implements AutoCloseable {
    @Override
    public void close() {
      exchange.settle();
      stream.close();
    }
  }

  /** What a request wants. */
  private record Asked(
      String line,
      @Nullable String folder,
      Map<String, String> variables,
      int millis,
      boolean background) {
    static Asked of(Exchange exchange, Execs execs) throws IOException {
      Fields fields = exchange.fields();
      boolean background = fields.bool("run_in_background", false);
      Duration usual = execs.atMost(background ? USUAL_BACKGROUND : USUAL, background);
      Map<String, String> variables = fields.stringMap("env");
      String folder = fields.string("cwd");
      return new Asked(
          fields.requiredString("command"),
          folder == null ? exchange.header(WORKSPACE).orElse(null) : folder,
          variables == null ? Map.of() : variables,
          fields.wholeNumber("timeout_ms", (int) usual.toMillis(), 1, MAX_MILLIS),
          background);
    }

    String output(BothStreams said, ExecEvent.Exited end) {
      return end.cause() == ExecEvent.Cause.TIMED_OUT
          ? said.text()
              + "\n<bash_metadata>\ncommand timed out after "
              + millis
              + "ms\n</bash_metadata>"
          : said.text();
    }
  }

  /**
   * How it went.
   *
   * @param output of both streams, in the order of its coming
   * @param truncated true: there was more; null: this is all
   */
  @JsonInclude(JsonInclude.Include.NON_NULL)
  record Result(
      String output,
      int exitCode,
      @Nullable String error,
      @Nullable String outputFile,
      @Nullable Boolean truncated) {}

  record Event(String event, Object data) {}

  record Chunk(String data, String source) {}

  record Failed(String message) {}

  @JsonInclude(JsonInclude.Include.NON_NULL)
  record Done(
      String output,
      int exitCode,
      long durationMs,
      boolean timedOut,
      boolean truncated,
      @Nullable String outputFile) {}
}
