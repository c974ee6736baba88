package dev.carrel.control.files;

import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.util.ArrayList;
import java.util.List;

/** Builds what an edit makes of a text, place by place. Bounded, however many there are. */
final class Replacing {
  private static final int SHOWN = 10;

  private final String text;
  private final TextEdit edit;
  private final String fresh;
  private final boolean keepIndentation;
  private final String given;
  private final StringBuilder result = new StringBuilder();
  private final List<Integer> first = new ArrayList<>();
  private int at;
  private int count;

  /**
   * @param fresh what comes to each place
   * @param keepIndentation whether it is moved to where the text of the place stands
   */
  Replacing(String text, TextEdit edit, String fresh, boolean keepIndentation) {
    this.text = text;
    this.edit = edit;
    this.fresh = fresh;
    this.keepIndentation = keepIndentation;
    this.given = indentation(edit.oldText(), 0, edit.oldText().length());
  }

  /** A place, after those before it and apart from them. */
  void found(int start, int end) {
    count++;
    if (count <= SHOWN) {
      first.add(start);
    }
    if (count > 1 && !edit.replaceAll()) {
      return;
    }
    // Apart from what the text may become, this bounds the work of moving it.
    if ((long) count * fresh.length() > TextEdit.MAX_LENGTH) {
      throw tooLong();
    }
    append(text, at, start);
    if (keepIndentation) {
      appendMoved(indentation(text, start, end));
    } else {
      append(fresh, 0, fresh.length());
    }
    at = end;
  }

  int count() {
    return count;
  }

  String result() {
    append(text, at, text.length());
    return result.toString();
  }

  SandboxException ambiguous() {
    var lines = new StringBuilder();
    first.forEach(start -> lines.append(lines.isEmpty() ? "" : ", ").append(lineOf(start)));
    return SandboxException.invalid(
            "old_string",
            "old_string is found %d times, at lines %s%s"
                .formatted(count, lines, first.size() < count ? ", …" : ""))
        .withHint("give more of the text around it, or set replace_all");
  }

  private void appendMoved(String there) {
    if (there.equals(given)) {
      append(fresh, 0, fresh.length());
      return;
    }
    for (int from = 0, to; from < fresh.length(); from = to) {
      int end = fresh.indexOf('\n', from);
      to = end < 0 ? fresh.length() : end + 1;
      if (!blank(fresh, from, to) && fresh.startsWith(given, from)) {
        append(there, 0, there.length());
        append(fresh, from + given.length(), to);
      } else {
        append(fresh, from, to);
      }
    }
  }

  private void append(String part, int from, int to) {
    if (result.length() + (to - from) > TextEdit.MAX_LENGTH) {
      throw tooLong();
    }
    result.append(part, from, to);
  }

  private int lineOf(int offset) {
    int line = 1;
    for (int i = 0; i < offset; i++) {
      if (text.charAt(i) == '\n') {
        line++;
      }
    }
    return line;
  }

  private static boolean blank(String text, int from, int to) {
    for (int i = from; i < to; i++) {
      if (!Character.isWhitespace(text.charAt(i))) {
        return false;
      }
    }
    return true;
  }

  /** Of the first line that is not blank. */
  private static String indentation(String text, int from, int to) {
    int line = from;
    for (int i = from; i < to; i++) {
      char c = text.charAt(i);
      if (c == '\n' || c == '\r') {
        line = i + 1;
      } else if (!Character.isWhitespace(c)) {
        return text.substring(line, i);
      }
    }
    return "";
  }

  private static SandboxException tooLong() {
    return new SandboxException(
            ErrorCode.TOO_LARGE,
            "the edited text would have more than " + TextEdit.MAX_LENGTH + " characters")
        .withHint("change the file with a command, for example sed");
  }
}
