package dev.carrel.sdk;

import dev.carrel.sdk.ExecEvent.Channel;
import java.net.http.HttpRequest.BodyPublishers;
import java.util.ArrayDeque;
import java.util.Base64;
import java.util.Deque;
import java.util.EnumMap;
import java.util.Iterator;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/**
 * A command that is being followed. One thread reads the events; any thread may write, signal,
 * resize or close. One that was attached to, or started with an idempotency key, is followed over
 * broken connections: nothing is lost, and nothing comes twice.
 */
public final class ExecStream implements Iterable<ExecEvent>, AutoCloseable {
  private final Transport transport;
  private final String sandboxPath;
  private final ResumedEvents events;
  private volatile @Nullable String id;
  private final Deque<ExecEvent> first = new ArrayDeque<>();
  private final Map<Channel, Characters> characters = new EnumMap<>(Channel.class);

  private ExecStream(
      Transport transport, String sandboxPath, ResumedEvents events, @Nullable String id) {
    this.transport = transport;
    this.sandboxPath = sandboxPath;
    this.events = events;
    this.id = id;
  }

  static ExecStream start(Transport transport, String sandboxPath, ExecOptions options) {
    String path = sandboxPath + "/exec?encoding=base64";
    String key = options.idempotencyKey();
    ResumedEvents.Opening opening = seen -> transport.events(path, options, key, seen);
    ResumedEvents events =
        key == null ? ResumedEvents.once(opening) : ResumedEvents.resumable(opening, 0);
    var exec = new ExecStream(transport, sandboxPath, events, null);
    try {
      exec.awaitId();
    } catch (CarrelException e) {
      exec.close();
      throw e;
    }
    return exec;
  }

  /** Every other call needs it. It comes with the first event that does not tell of waiting. */
  private void awaitId() {
    Optional<ExecEvent> event;
    do {
      event = next();
      event.ifPresent(first::add);
    } while (id == null && event.orElse(null) instanceof ExecEvent.Queued);
  }

  static ExecStream attach(Transport transport, String sandboxPath, String id, long from) {
    String path = sandboxPath + "/execs/" + Transport.encode(id) + "/output?encoding=base64&from=";
    return new ExecStream(
        transport,
        sandboxPath,
        ResumedEvents.resumable(seen -> transport.events(path + seen), from),
        id);
  }

  public String id() {
    String known = id;
    if (known == null) {
      throw CarrelException.unreachable("the stream ended before the command had an id", null);
    }
    return known;
  }

  /** Each event as it comes. Can be called once. */
  @Override
  public Iterator<ExecEvent> iterator() {
    return new Arrivals<>(() -> Optional.ofNullable(first.poll()).or(this::next));
  }

  private Optional<ExecEvent> next() {
    return events
        .next("exited")
        .map(
            event ->
                switch (event.name()) {
                  case "started" -> {
                    var started = event.as(ExecEvent.Started.class);
                    id = started.id();
                    yield started;
                  }
                  case "stdout" -> output(Channel.STDOUT, event);
                  case "stderr" -> output(Channel.STDERR, event);
                  case "queued" -> event.as(ExecEvent.Queued.class);
                  case "gap" -> {
                    // What comes next does not end what came last.
                    characters.clear();
                    yield event.as(ExecEvent.Gap.class);
                  }
                  case "exited" -> {
                    var exited = event.as(ExecEvent.Exited.class);
                    id = exited.id();
                    yield exited;
                  }
                  default ->
                      throw CarrelException.unreachable(
                          "an event this client does not know: " + event.name(), null);
                });
  }

  private ExecEvent.Output output(Channel channel, ServerEvents.Event event) {
    byte[] bytes = Base64.getDecoder().decode(event.as(Chunk.class).base64());
    String text = characters.computeIfAbsent(channel, _ -> new Characters()).of(bytes);
    return new ExecEvent.Output(channel, bytes, event.id(), text);
  }

  private record Chunk(String base64) {}

  /** Writes standard input; returns when the sandbox has taken it. */
  public void write(byte[] bytes, int length) {
    stdin(bytes, length, false);
  }

  /** Closes standard input. */
  public void closeStdin() {
    stdin(new byte[0], 0, true);
  }

  private void stdin(byte[] bytes, int length, boolean end) {
    transport.discard(
        transport.send(
            transport
                .request(path() + "/stdin" + (end ? "?eof=true" : ""))
                .header("Content-Type", "application/octet-stream")
                .POST(BodyPublishers.ofByteArray(bytes, 0, length))));
  }

  /** Sends a signal by name, for example {@code SIGINT}, to the command's process group. */
  public void signal(String name) {
    transport.post(path() + "/signal", Map.of("signal", name));
  }

  /** Kills the command and everything it started. */
  public void kill() {
    transport.post(path() + "/signal", Map.of("signal", "SIGKILL", "scope", "tree"));
  }

  /** Tells the command's terminal its new size. */
  public void resize(int rows, int cols) {
    transport.post(path() + "/resize", new ExecOptions.TerminalSize(rows, cols));
  }

  /** Reads on to the end and drops the output. */
  public OptionalInt waitFor() {
    OptionalInt code = OptionalInt.empty();
    for (ExecEvent event : this) {
      if (event instanceof ExecEvent.Exited exited) {
        code = OptionalInt.of(exited.exitCode());
      }
    }
    return code;
  }

  private String path() {
    return sandboxPath + "/execs/" + id();
  }

  @Override
  public void close() {
    events.close();
  }
}
