package dev.carrel.control.files;

/**
 * Ways to find a text that a model remembers, the strictest first. None of them guesses: apart from
 * space, indentation and escapes the text must be there as it was given.
 */
enum Matching {
  EXACT {
    @Override
    void find(String text, String wanted, Found found) {
      if (wanted.length() > text.length()) {
        return;
      }
      var search = new Search(wanted);
      for (int i = 0; i < text.length(); i++) {
        if (search.next(text.charAt(i))) {
          found.found(i + 1 - wanted.length(), i + 1);
        }
      }
    }
  },
  /** Space at the ends of lines makes no difference; the indentation of the file is kept. */
  LINES_TRIMMED {
    @Override
    void find(String text, String wanted, Found found) {
      new LineSearch(wanted, false).find(text, found);
    }

    @Override
    boolean keepsIndentation() {
      return true;
    }
  },
  /** Runs of spaces and tabs count as one. */
  SPACE_NORMALISED {
    @Override
    void find(String text, String wanted, Found found) {
      new LineSearch(wanted, true).find(text, found);
    }

    @Override
    boolean keepsIndentation() {
      return true;
    }
  },
  /** Line breaks, tabs and quotes were escaped once too often. */
  UNESCAPED {
    @Override
    void find(String text, String wanted, Found found) {
      String plain = unescaped(wanted);
      if (!plain.equals(wanted) && !plain.isEmpty()) {
        EXACT.find(text, plain, found);
      }
    }

    @Override
    String replacement(TextEdit edit) {
      return unescaped(edit.newText());
    }
  },
  /** Empty lines before and after are too many. */
  TRIMMED {
    @Override
    void find(String text, String wanted, Found found) {
      String core = wanted.strip();
      if (!core.equals(wanted) && !core.isEmpty()) {
        EXACT.find(text, core, found);
      }
    }

    @Override
    String replacement(TextEdit edit) {
      return edit.newText().strip();
    }
  };

  /** Is told each place: characters of the text, from {@code start} to before {@code end}. */
  interface Found {
    void found(int start, int end);
  }

  /** In order, without overlaps, in time that grows with the length of both alone. */
  abstract void find(String text, String wanted, Found found);

  String replacement(TextEdit edit) {
    return edit.newText();
  }

  boolean keepsIndentation() {
    return false;
  }

  private static String unescaped(String text) {
    var result = new StringBuilder(text.length());
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      char next = i + 1 < text.length() ? text.charAt(i + 1) : ' ';
      int at = c == '\\' ? "ntr'\"`\\$".indexOf(next) : -1;
      if (at >= 0) {
        result.append("\n\t\r'\"`\\$".charAt(at));
        i++;
      } else {
        result.append(c);
      }
    }
    return result.toString();
  }
}
