package dev.carrel.server.flat;

import dev.carrel.server.http.Utf8Text;
import dev.carrel.spi.ExecEvent;
import dev.carrel.spi.ExecEvent.Channel;
import dev.carrel.spi.Text;
import java.io.IOException;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;

/** What a program says: kept as one text in the order of its coming, and told line by line. */
final class BothStreams {
  private static final int MAX_CHARS = 1 << 20;
  private static final int MAX_LINE = 64 * 1024;

  private final Listener listener;
  private final StringBuilder text = new StringBuilder();
  private final Map<Channel, Utf8Text> decoders = new EnumMap<>(Channel.class);
  private final Map<Channel, StringBuilder> lines = new EnumMap<>(Channel.class);
  private boolean full;
  private boolean truncated;

  /** Hears each line with its end; one that is very long comes in pieces. */
  interface Listener {
    void line(String source, String line) throws IOException;
  }

  BothStreams(Listener listener) {
    this.listener = listener;
  }

  void add(ExecEvent.Output output) throws IOException {
    Channel channel = output.channel();
    say(channel, decoders.computeIfAbsent(channel, _ -> new Utf8Text()).decode(output.bytes()));
  }

  /** Some of it was lost before it came here. */
  void lost() {
    truncated = true;
  }

  void end() throws IOException {
    for (var entry : decoders.entrySet()) {
      say(entry.getKey(), entry.getValue().end());
    }
    for (var entry : lines.entrySet()) {
      tell(entry.getKey(), entry.getValue());
    }
  }

  String text() {
    return text.toString();
  }

  boolean truncated() {
    return truncated;
  }

  private void say(Channel channel, String piece) throws IOException {
    keep(piece);
    StringBuilder line = lines.computeIfAbsent(channel, _ -> new StringBuilder());
    for (int from = 0; from < piece.length(); ) {
      int newline = piece.indexOf('\n', from);
      int end = newline < 0 ? piece.length() : newline + 1;
      line.append(piece, from, end);
      if (newline >= 0 || line.length() >= MAX_LINE) {
        tell(channel, line);
      }
      from = end;
    }
  }

  private void keep(String piece) {
    int room = full ? 0 : Text.cut(piece, MAX_CHARS - text.length());
    if (room < piece.length()) {
      full = true;
      truncated = true;
    }
    text.append(piece, 0, room);
  }

  private void tell(Channel channel, StringBuilder line) throws IOException {
    if (!line.isEmpty()) {
      listener.line(channel.name().toLowerCase(Locale.ROOT), line.toString());
      line.setLength(0);
    }
  }
}
