package dev.carrel.server.tools;

import dev.carrel.server.http.Utf8Text;
import dev.carrel.spi.ExecEvent.Channel;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.EnumMap;
import java.util.Map;

/** Both streams of a program in the order of their coming; only as much is kept as is shown. */
final class Interleaved {
  private static final int KEPT = 64 * 1024;

  private final Map<Channel, Utf8Text> texts = new EnumMap<>(Channel.class);
  private final StringBuilder head = new StringBuilder();
  private long bytes;
  private long lines;

  void add(Channel channel, ByteBuffer piece) {
    bytes += piece.remaining();
    for (int i = piece.position(); i < piece.limit(); i++) {
      if (piece.get(i) == '\n') {
        lines++;
      }
    }
    String text = texts.computeIfAbsent(channel, _ -> new Utf8Text()).decode(piece);
    head.append(text, 0, Math.min(text.length(), Math.max(0, KEPT - head.length())));
  }

  /** The beginning, and a word of what is left out. */
  String shown(int maxLines, int maxChars) {
    int end = Math.min(head.length(), maxChars);
    int seen = 0;
    for (int i = 0; i < end; i++) {
      if (head.charAt(i) == '\n' && ++seen == maxLines) {
        end = i + 1;
      }
    }
    if (end > 0 && end < head.length() && Character.isHighSurrogate(head.charAt(end - 1))) {
      end--;
    }
    String text = head.substring(0, end);
    long shownBytes = text.getBytes(StandardCharsets.UTF_8).length;
    if (bytes <= shownBytes) {
      return text;
    }
    return text.stripTrailing()
        + "\n\n...%d lines (%d bytes) truncated... Write long output to a file and use Grep or Read."
            .formatted(Math.max(0, lines - seen), bytes - shownBytes);
  }
}
