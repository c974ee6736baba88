package dev.carrel.server.tools;

import dev.carrel.server.http.Utf8Text;
import dev.carrel.spi.ExecEvent.Channel;
import dev.carrel.spi.Text;
import java.nio.ByteBuffer;
import java.util.EnumMap;
import java.util.Map;

/**
 * Both streams of a program in the order of their coming. Only as much is kept as is shown: the
 * beginning, and the end, where failures are told.
 */
final class Interleaved {
  private static final int KEPT = 64 * 1024;

  private final Map<Channel, Utf8Text> texts = new EnumMap<>(Channel.class);
  private final StringBuilder head = new StringBuilder();
  private final StringBuilder tail = new StringBuilder();
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

  /** What came faster than it could be taken is not there any more. */
  void miss(long bytes) {
    say("\n...%d bytes were lost here...\n".formatted(bytes));
  }

  private void say(String text) {
    total += text.length();
    lines += text.chars().filter(c -> c == '\n').count();
    int first = Math.min(text.length(), KEPT - head.length());
    head.append(text, 0, first);
    tail.append(text, Math.max(first, text.length() - KEPT), text.length());
    // Not at every piece: what is kept would be moved each time.
    if (tail.length() > 2 * KEPT) {
      tail.delete(0, tail.length() - KEPT);
    }
  }

  /**
   * All of it, or half of the lines and characters from each end with a word of what is left out.
   *
   * @param maxChars at most what is kept
   */
  String shown(int maxLines, int maxChars) {
    String last = total == head.length() + tail.length() ? head + tail.toString() : tail.toString();
    long whole = last.endsWith("\n") ? lines : lines + 1;
    if (total <= maxChars && whole <= maxLines) {
      return last;
    }
    String beginning = beginning(maxLines - maxLines / 2, maxChars - maxChars / 2);
    String end = end(last, maxLines / 2, maxChars / 2);
    return beginning.stripTrailing()
        + "\n\n...%d lines (%d characters) truncated... Write long output to a file and use Grep or Read.\n\n"
            .formatted(
                lines - newlines(beginning) - newlines(end),
                total - beginning.length() - end.length())
        + end;
  }

  private String beginning(int maxLines, int maxChars) {
    String text = head.substring(0, Text.cut(head, maxChars));
    int seen = 0;
    for (int i = 0; i < text.length(); i++) {
      if (text.charAt(i) == '\n' && ++seen == maxLines) {
        return text.substring(0, i + 1);
      }
    }
    return text;
  }

  private static String end(String all, int maxLines, int maxChars) {
    String text = Text.tail(all, maxChars);
    int seen = 0;
    // What follows the last newline is a line; that newline itself may be the end of one.
    for (int i = text.length() - 2; i >= 0; i--) {
      if (text.charAt(i) == '\n' && ++seen == maxLines) {
        return text.substring(i + 1);
      }
    }
    return text;
  }

  private static long newlines(String text) {
    return text.chars().filter(c -> c == '\n').count();
  }
}
