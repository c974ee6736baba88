package dev.carrel.server.rest;

import dev.carrel.control.context.CodeEvent;
import dev.carrel.control.context.CodeStream;
import dev.carrel.server.http.EventStream;
import dev.carrel.server.http.Utf8Text;
import dev.carrel.spi.ExecEvent.Channel;
import java.io.IOException;
import java.util.EnumMap;
import java.util.Map;

/**
 * Sends the events of a cell to a client until the cell ends. For one thread. Events of a cell with
 * a key are numbered, so that a client can go on where it was.
 */
final class CodeFollower {
  private final CodeStream stream;
  private final EventStream events;
  private final boolean numbered;
  private final long seen;
  private final Map<Channel, Utf8Text> texts = new EnumMap<>(Channel.class);

  /**
   * @param seen the number of the last event that the client has; these are left out
   */
  CodeFollower(CodeStream stream, EventStream events, boolean numbered, long seen) {
    this.stream = stream;
    this.events = events;
    this.numbered = numbered;
    this.seen = seen;
  }

  void follow() throws IOException, InterruptedException {
    for (CodeEvent event; (event = stream.next(events.patience())) != null; ) {
      send(event);
    }
  }

  private void send(CodeEvent event) throws IOException {
    switch (event) {
      case CodeEvent.Begun begun ->
          send("started", new CodeViews.Started(ExecViews.millis(begun.queued())));
      case CodeEvent.Output output when !output.bytes().hasRemaining() -> events.keepAlive();
      case CodeEvent.Output output -> {
        // Also of what is left out: a character may be cut where the client left.
        Utf8Text text = texts.computeIfAbsent(output.channel(), channel -> new Utf8Text());
        text(output.channel(), text.decode(output.bytes()));
      }
      case CodeEvent.Result result -> send("result", CodeViews.bundle(result.bundle()));
      case CodeEvent.Display display -> send("display", CodeViews.bundle(display.bundle()));
      case CodeEvent.Failed failed ->
          send(
              "error",
              new CodeViews.Failed(
                  failed.error().type(), failed.error().message(), failed.error().traceback()));
      case CodeEvent.Gap gap ->
          send("gap", new CodeViews.Gap(Math.min(gap.events(), stream.number() - seen)));
      case CodeEvent.Done done -> {
        for (var entry : texts.entrySet()) {
          end(entry.getKey(), entry.getValue().end());
        }
        send("done", CodeViews.Done.of(done.result()));
      }
    }
  }

  private void send(String name, Object data) throws IOException {
    if (!numbered) {
      events.send(name, data);
    } else if (stream.number() > seen) {
      events.send(name, stream.number(), data);
    }
  }

  /** Without a number: who has seen that of the end is not told it again. */
  private void end(Channel channel, String text) throws IOException {
    if (!text.isEmpty() && (!numbered || stream.number() > seen)) {
      events.send(ExecViews.wireName(channel), "text", text);
    }
  }

  private void text(Channel channel, String text) throws IOException {
    if (text.isEmpty()) {
      return;
    }
    String name = ExecViews.wireName(channel);
    if (!numbered) {
      events.send(name, "text", text);
    } else if (stream.number() > seen) {
      events.send(name, stream.number(), "text", text);
    }
  }
}
