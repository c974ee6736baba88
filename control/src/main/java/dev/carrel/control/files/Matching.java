package dev.carrel.control.files;

import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;

/**
 * Ways to find a text that a model remembers, the strictest first. None of them guesses: apart from
 * space, indentation and escapes the text must be there as it was given.
 */
enum Matching {
  EXACT {
    @Override
    List<Range> find(String text, String wanted) {
      var found = new ArrayList<Range>();
      int at = text.indexOf(wanted);
      while (at >= 0) {
        found.add(new Range(at, at + wanted.length()));
        at = text.indexOf(wanted, at + wanted.length());
      }
      return found;
    }
  },
  /** Space at the ends of lines makes no difference; the indentation of the file is kept. */
  LINES_TRIMMED {
    @Override
    List<Range> find(String text, String wanted) {
      return byLines(text, wanted, String::strip);
    }

    @Override
    String replacement(String matched, TextEdit edit) {
      return reindented(matched, edit);
    }
  },
  /** Runs of spaces and tabs count as one. */
  SPACE_NORMALISED {
    @Override
    List<Range> find(String text, String wanted) {
      return byLines(text, wanted, line -> line.strip().replaceAll("[ \\t]+", " "));
    }

    @Override
    String replacement(String matched, TextEdit edit) {
      return reindented(matched, edit);
    }
  },
  /** Line breaks, tabs and quotes were escaped once too often. */
  UNESCAPED {
    @Override
    List<Range> find(String text, String wanted) {
      String plain = unescaped(wanted);
      return plain.equals(wanted) || plain.isEmpty() ? List.of() : EXACT.find(text, plain);
    }

    @Override
    String replacement(String matched, TextEdit edit) {
      return unescaped(edit.newText());
    }
  },
  /** Empty lines before and after are too many. */
  TRIMMED {
    @Override
    List<Range> find(String text, String wanted) {
      String core = wanted.strip();
      return core.equals(wanted) || core.isEmpty() ? List.of() : EXACT.find(text, core);
    }

    @Override
    String replacement(String matched, TextEdit edit) {
      return edit.newText().strip();
    }
  };

  /** Characters of the text. */
  record Range(int start, int end) {}

  /** In order, without overlaps. */
  abstract List<Range> find(String text, String wanted);

  String replacement(String matched, TextEdit edit) {
    return edit.newText();
  }

  String replace(String text, List<Range> found, TextEdit edit) {
    var result = new StringBuilder(text.length() + edit.newText().length());
    int at = 0;
    for (Range range : found) {
      result.append(text, at, range.start());
      result.append(replacement(text.substring(range.start(), range.end()), edit));
      at = range.end();
    }
    return result.append(text, at, text.length()).toString();
  }

  static int lineOf(String text, int offset) {
    int line = 1;
    for (int i = 0; i < offset; i++) {
      if (text.charAt(i) == '\n') {
        line++;
      }
    }
    return line;
  }

  private static List<Range> byLines(String text, String wanted, UnaryOperator<String> form) {
    String core = wanted.endsWith("\n") ? wanted.substring(0, wanted.length() - 1) : wanted;
    List<String> sought = core.lines().map(form).toList();
    if (sought.stream().allMatch(String::isEmpty)) {
      return List.of();
    }
    List<Range> lines = lines(text);
    List<String> forms =
        lines.stream().map(line -> form.apply(text.substring(line.start(), line.end()))).toList();
    var found = new ArrayList<Range>();
    for (int i = 0; i + sought.size() <= lines.size(); i++) {
      if (forms.subList(i, i + sought.size()).equals(sought)) {
        int last = i + sought.size() - 1;
        boolean withBreak = wanted.endsWith("\n") && last + 1 < lines.size();
        found.add(
            new Range(
                lines.get(i).start(),
                withBreak ? lines.get(last + 1).start() : lines.get(last).end()));
        i = last;
      }
    }
    return found;
  }

  /** Without their line breaks. */
  private static List<Range> lines(String text) {
    var lines = new ArrayList<Range>();
    int start = 0;
    while (start <= text.length()) {
      int end = text.indexOf('\n', start);
      int stop = end < 0 ? text.length() : end;
      int trimmed = stop > start && text.charAt(stop - 1) == '\r' ? stop - 1 : stop;
      lines.add(new Range(start, trimmed));
      start = stop + 1;
    }
    return lines;
  }

  /** The new text, moved to where the matched one stood. */
  private static String reindented(String matched, TextEdit edit) {
    String there = indentation(matched);
    String given = indentation(edit.oldText());
    if (there.equals(given)) {
      return edit.newText();
    }
    var result = new StringBuilder();
    for (String line : edit.newText().split("(?<=\n)", -1)) {
      if (line.isBlank()) {
        result.append(line);
      } else if (line.startsWith(given)) {
        result.append(there).append(line, given.length(), line.length());
      } else {
        result.append(line);
      }
    }
    return result.toString();
  }

  private static String indentation(String text) {
    for (String line : text.lines().toList()) {
      if (!line.isBlank()) {
        return line.substring(0, line.length() - line.stripLeading().length());
      }
    }
    return "";
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
