package dev.carrel.server.tools;

import dev.carrel.server.http.Utf8Text;
import dev.carrel.spi.ExecEvent.Channel;
import dev.carrel.spi.Text;
import java.nio.ByteBuffer;
import java.util.EnumMap;
import java.util.Map;

/** Both streams of a program in the order of their coming; only as much is kept as is shown. */
final class Interleaved {
  private static final int KEPT = 64 * 1024;

  private final Map<Channel, Utf8Text> texts = new EnumMap<>(Channel.class);
  private final StringBuilder head = new StringBuilder();
  // Of the text, not of its bytes: one byte that is not UTF-8 is a character of three.
  private long total;
  private long lines;

  void add(Channel channel, ByteBuffer piece) {
    say(texts.computeIfAbsent(channel, _ -> new Utf8Text()).decode(piece));
  }

  /** Nothing more will come. */
  void end() {
    texts.values().forEach(text -> say(text.end()));
  }

  private void say(String text) {
    total += text.length();
    lines += text.chars().filter(c -> c == '\n').count();
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
    end = Text.cut(head, end);
    String text = head.substring(0, end);
    if (total == end) {
      return text;
    }
    return text.stripTrailing()
        + "\n\n...%d lines (%d characters) truncated... Write long output to a file and use Grep or Read."
            .formatted(lines - seen, total - end);
  }
}
