package dev.carrel.control.files;

import dev.carrel.spi.SandboxException;

/**
 * A piece of text to be replaced by another.
 *
 * @param oldText must be found exactly once, unless all are to be replaced
 * @param newText may be empty
 */
public record TextEdit(String oldText, String newText, boolean replaceAll) {
  /** Characters that a text may have, before and after. */
  static final int MAX_LENGTH = 4 << 20;

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
    boolean converted = text.contains("\r\n") && !oldText.contains("\r\n");
    TextEdit edit = converted ? new TextEdit(windows(oldText), windows(newText), replaceAll) : this;
    for (Matching matching : Matching.values()) {
      var replacing =
          new Replacing(text, edit, matching.replacement(edit), matching.keepsIndentation());
      matching.find(text, edit.oldText, replacing::found);
      if (replacing.count() > 1 && !replaceAll) {
        throw replacing.ambiguous();
      }
      if (replacing.count() > 0) {
        return new Applied(replacing.result(), replacing.count());
      }
    }
    throw SandboxException.invalid("old_string", "old_string not found in file")
        .withHint("read the file again: its text must be given as it is there");
  }

  private static String windows(String text) {
    return text.replace("\r\n", "\n").replace("\n", "\r\n");
  }
}
