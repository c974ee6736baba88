package dev.carrel.sdk;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.type.TypeReference;
import java.util.Iterator;
import java.util.Map;
import java.util.Optional;

/** Running code, event by event. For one thread, but any thread may close it. */
public final class CodeStream implements Iterable<CodeEvent>, AutoCloseable {
  private static final TypeReference<Map<String, String>> BUNDLE = new TypeReference<>() {};

  private final ResumedEvents events;

  private CodeStream(ResumedEvents events) {
    this.events = events;
  }

  static CodeStream start(Transport transport, String path, CodeOptions options) {
    String key = options.idempotencyKey();
    ResumedEvents.Opening opening = seen -> transport.events(path, options, key, seen);
    return new CodeStream(
        key == null ? ResumedEvents.once(opening) : ResumedEvents.resumable(opening, 0));
  }

  /** Waits for the next event; empty after Done. */
  public Optional<CodeEvent> next() {
    return events.next("done").map(CodeStream::parse);
  }

  private static CodeEvent parse(ServerEvents.Event event) {
    return switch (event.name()) {
      case "started" -> event.as(CodeEvent.Started.class);
      case "stdout" -> new CodeEvent.Output(ExecEvent.Channel.STDOUT, text(event));
      case "stderr" -> new CodeEvent.Output(ExecEvent.Channel.STDERR, text(event));
      case "display" -> new CodeEvent.Display(bundle(event));
      case "result" -> new CodeEvent.Result(bundle(event));
      case "error" -> new CodeEvent.Failed(event.as(CodeError.class));
      case "queued" -> event.as(CodeEvent.Queued.class);
      case "gap" -> event.as(CodeEvent.Gap.class);
      case "done" -> event.as(CodeEvent.Done.class);
      default ->
          throw CarrelException.unreachable(
              "an event this client does not know: " + event.name(), null);
    };
  }

  private static String text(ServerEvents.Event event) {
    return event.json().path("text").asText();
  }

  private static Map<String, String> bundle(ServerEvents.Event event) {
    try {
      return Transport.JSON.readValue(event.data(), BUNDLE);
    } catch (JsonProcessingException e) {
      throw CarrelException.unreachable("an event that is not a mime bundle", e);
    }
  }

  /** Each as it comes, to the end. */
  @Override
  public Iterator<CodeEvent> iterator() {
    return new Arrivals<>(this::next);
  }

  @Override
  public void close() {
    events.close();
  }
}
