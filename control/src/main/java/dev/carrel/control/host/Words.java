package dev.carrel.control.host;

import dev.carrel.spi.SandboxException;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * A command as people write it: words with spaces between them, and quotes around what is to be
 * taken as it is. There is no shell, so whatever a shell would make something of is refused outside
 * of quotes instead of being misunderstood.
 */
final class Words {
  static final int MAX_WORDS = 256;
  static final int MAX_WORD = 4096;
  private static final int MAX_TEXT = 32 * 1024;
  private static final String SHELL = ";&|<>()$`\\?[]{}~#\"'";
  private static final Pattern PLAIN = Pattern.compile("[A-Za-z0-9_@%+=:,./-]+");

  private Words() {}

  /**
   * A word in which a star may stand for anything.
   *
   * @param pieces what is between the stars; a single one: there is none
   */
  record Word(List<String> pieces) {
    Word {
      pieces = List.copyOf(pieces);
    }

    boolean literal() {
      return pieces.size() == 1;
    }

    /** A star alone. */
    boolean any() {
      return pieces.equals(List.of("", ""));
    }

    /** Two stars alone. */
    boolean rest() {
      return pieces.equals(List.of("", "", ""));
    }

    @Override
    public String toString() {
      return literal()
          ? quoted(pieces.getFirst())
          : pieces.stream()
              .map(piece -> piece.isEmpty() ? "" : quoted(piece))
              .collect(Collectors.joining("*"));
    }
  }

  static List<Word> parse(String field, String text) {
    check(field, text, MAX_TEXT);
    var words = new ArrayList<Word>();
    var reader = new Reader(field, text);
    for (Word word; (word = reader.next()) != null; ) {
      words.add(word);
    }
    if (words.isEmpty() || words.size() > MAX_WORDS) {
      throw SandboxException.invalid(field, "must have 1 to " + MAX_WORDS + " words");
    }
    return words;
  }

  /** The words themselves; a star outside of quotes is refused: nothing would expand it. */
  static List<String> literal(String field, String text) {
    var words = new ArrayList<String>();
    for (Word word : parse(field, text)) {
      if (!word.literal()) {
        throw unusual(field, '*');
      }
      words.add(word.pieces().getFirst());
    }
    return words;
  }

  /** The one way to write these words. */
  static String text(List<String> words) {
    return words.stream().map(Words::quoted).collect(Collectors.joining(" "));
  }

  /** Refuses what a person who looks at it would not see. */
  static void check(String field, String text, int max) {
    if (text.length() > max) {
      throw SandboxException.invalid(field, "must have at most " + max + " characters");
    }
    for (int i = 0; i < text.length(); ) {
      int c = text.codePointAt(i);
      int type = Character.getType(c);
      if (Character.isISOControl(c)
          || type == Character.FORMAT
          || type == Character.LINE_SEPARATOR
          || type == Character.PARAGRAPH_SEPARATOR
          || type == Character.SURROGATE
          || type == Character.PRIVATE_USE
          || type == Character.UNASSIGNED) {
        throw SandboxException.invalid(
            field, "holds a character that cannot be seen (U+%04X)".formatted(c));
      }
      i += Character.charCount(c);
    }
  }

  private static String quoted(String word) {
    return PLAIN.matcher(word).matches() ? word : "'" + word.replace("'", "'\"'\"'") + "'";
  }

  private static SandboxException unusual(String field, char c) {
    return SandboxException.invalid(field, "'" + c + "' means nothing here: there is no shell")
        .withHint("put it in single quotes to have it as it is, or give the words as a list");
  }

  /** From the first character to the last. */
  private static final class Reader {
    private final String field;
    private final String text;
    private int at;

    Reader(String field, String text) {
      this.field = field;
      this.text = text;
    }

    @Nullable Word next() {
      while (at < text.length() && text.charAt(at) == ' ') {
        at++;
      }
      if (at == text.length()) {
        return null;
      }
      var pieces = new ArrayList<String>();
      var piece = new StringBuilder();
      for (; at < text.length() && text.charAt(at) != ' '; at++) {
        char c = text.charAt(at);
        if (c == '\'' || c == '"') {
          piece.append(quoted(c));
        } else if (c == '*') {
          pieces.add(piece.toString());
          piece.setLength(0);
        } else if (SHELL.indexOf(c) >= 0) {
          throw unusual(field, c);
        } else {
          piece.append(c);
        }
      }
      pieces.add(piece.toString());
      return new Word(pieces);
    }

    private String quoted(char quote) {
      int end = text.indexOf(quote, at + 1);
      if (end < 0) {
        throw SandboxException.invalid(field, "a quote is not closed");
      }
      String inside = text.substring(at + 1, end);
      if (quote == '"'
          && (inside.indexOf('$') >= 0 || inside.indexOf('\\') >= 0 || inside.indexOf('`') >= 0)) {
        throw SandboxException.invalid(field, "nothing is expanded in double quotes")
            .withHint("use single quotes");
      }
      at = end;
      return inside;
    }
  }
}
