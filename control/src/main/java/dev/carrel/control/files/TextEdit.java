package dev.carrel.control.files;

import dev.carrel.spi.SandboxException;
import java.util.List;

/**
 * A piece of text to be replaced by another.
 *
 * @param oldText must be found exactly once, unless all are to be replaced
 * @param newText may be empty
 */
public record TextEdit(String oldText, String newText, boolean replaceAll) {
  public TextEdit {
    if (oldText.isEmpty()) {
      throw SandboxException.invalid("old_string", "must not be empty")
          .withHint("to make or replace a whole file, write it");
    }
    if (oldText.equals(newText)) {
      throw SandboxException.invalid("new_string", "old_string and new_string must be different");
    }
  }

  /** What came of it. */
  record Applied(String text, int count) {}

  /** Applies it to a text, or says why it cannot be. */
  Applied apply(String text) {
    boolean windows = text.contains("\r\n") && !oldText.contains("\r\n");
    TextEdit edit =
        windows
            ? new TextEdit(oldText.replace("\n", "\r\n"), newText.replace("\n", "\r\n"), replaceAll)
            : this;
    for (Matching matching : Matching.values()) {
      var found = matching.find(text, edit.oldText);
      if (found.isEmpty()) {
        continue;
      }
      if (found.size() > 1 && !replaceAll) {
        throw ambiguous(text, found);
      }
      return new Applied(matching.replace(text, found, edit), found.size());
    }
    throw SandboxException.invalid("old_string", "old_string not found in file")
        .withHint("read the file again: its text must be given as it is there");
  }

  private static SandboxException ambiguous(String text, List<Matching.Range> found) {
    var lines = new StringBuilder();
    int shown = Math.min(found.size(), 10);
    for (int i = 0; i < shown; i++) {
      lines.append(i == 0 ? "" : ", ").append(Matching.lineOf(text, found.get(i).start()));
    }
    return SandboxException.invalid(
            "old_string",
            "old_string is found %d times, at lines %s%s"
                .formatted(found.size(), lines, shown < found.size() ? ", …" : ""))
        .withHint("give more of the text around it, or set replace_all");
  }
}
