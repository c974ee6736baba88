package dev.carrel.server.rest;

import dev.carrel.control.exec.ExecStream;
import dev.carrel.server.http.EventStream;
import dev.carrel.server.http.Utf8Text;
import dev.carrel.spi.ExecEvent;
import dev.carrel.spi.ExecEvent.Channel;
import java.io.IOException;
import java.util.EnumMap;
import java.util.Map;

/** Sends an exec's events to a client until the exec ends. For one thread. */
final class ExecFollower {
  /**
   * What is no UTF-8 may be within a character for good: it is waited for no longer than this,
   * which who goes on from the last id gets a second time.
   */
  private static final long WITHIN = 512;

  private final ExecStream stream;
  private final EventStream events;
  private final Encoding encoding;
  private final Map<Channel, Utf8Text> texts = new EnumMap<>(Channel.class);
  private final Map<Channel, Long> cut = new EnumMap<>(Channel.class);

  ExecFollower(ExecStream stream, EventStream events, Encoding encoding) {
    this.stream = stream;
    this.events = events;
    this.encoding = encoding;
  }

  void follow() throws IOException, InterruptedException {
    ExecEvent event = stream.next(events.patience());
    while (event != null) {
      if (event.equals(ExecStream.NOTHING)) {
        events.keepAlive();
      } else {
        send(event);
      }
      event = stream.next(events.patience());
    }
  }

  private void send(ExecEvent event) throws IOException, InterruptedException {
    switch (event) {
      case ExecEvent.Started started ->
          events.send(
              "started",
              new ExecViews.Started(stream.id().value(), started.pid(), started.offset()));
      case ExecEvent.Output output -> output(output);
      case ExecEvent.Gap gap -> events.send("gap", stream.offset(), new ExecViews.Gap(gap.bytes()));
      case ExecEvent.Exited exited -> {
        rest();
        events.send("exited", ExecViews.Exited.of(exited, stream.result()));
      }
    }
  }

  private void output(ExecEvent.Output output) throws IOException {
    String name = ExecViews.wireName(output.channel());
    if (encoding == Encoding.BASE64) {
      events.send(name, stream.offset(), encoding.field(), Encoding.base64(output.bytes()));
      return;
    }
    Utf8Text text = texts.computeIfAbsent(output.channel(), channel -> new Utf8Text());
    String piece = text.decode(output.bytes());
    if (text.pending() == 0) {
      cut.remove(output.channel());
    } else if (!piece.isEmpty() || !cut.containsKey(output.channel())) {
      cut.put(output.channel(), stream.offset());
    }
    if (piece.isEmpty()) {
      return;
    }
    if (isAnotherCut(output.channel())) {
      // Who went on from here would miss the beginning of that one's character.
      events.send(name, encoding.field(), piece);
    } else {
      events.send(name, stream.offset() - text.pending(), encoding.field(), piece);
    }
  }

  /** Whether another stream was within a character when it spoke last. */
  private boolean isAnotherCut(Channel channel) {
    return cut.entrySet().stream()
        .anyMatch(
            other -> other.getKey() != channel && stream.offset() - other.getValue() <= WITHIN);
  }

  private void rest() throws IOException {
    for (var entry : texts.entrySet()) {
      String piece = entry.getValue().end();
      if (!piece.isEmpty()) {
        events.send(ExecViews.wireName(entry.getKey()), stream.offset(), encoding.field(), piece);
      }
    }
  }
}
