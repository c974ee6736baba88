package dev.carrel.control.validate;

import dev.carrel.control.validate.Verdict.Finding;
import dev.carrel.control.validate.Verdict.Severity;
import dev.carrel.spi.Language;
import dev.carrel.spi.Text;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Reads what the checkers of the languages print. All of it is the word of a sandbox. */
final class Findings {
  private static final int MOST = 1000;
  private static final int MAX_MESSAGE = 500;
  private static final int MAX_LINE = 1_000_000_000;
  private static final Pattern NODE_PLACE = Pattern.compile("(?m)^\\S*code\\.m?js:(\\d+)$");
  private static final Pattern NODE_ERROR = Pattern.compile("(?m)^(\\w*Error: .*)$");
  private static final Pattern BASH = Pattern.compile("(?m)line (\\d+): (.*)$");
  private static final Pattern R = Pattern.compile("(?:^|:)(\\d+):(\\d+): (.*)");

  private final List<Finding> found = new ArrayList<>();
  private final List<String> imports = new ArrayList<>();
  private int importsAfter;

  /** Lines of tabs, as check.py writes them. */
  static Findings ofPython(String output) {
    var findings = new Findings();
    output.lines().limit(MOST).forEach(line -> findings.take(line.split("\t", -1)));
    return findings;
  }

  /** What a parser says of code that it cannot read. */
  static Findings ofError(Language language, String said) {
    var findings = new Findings();
    switch (language) {
      case NODE -> {
        Matcher place = NODE_PLACE.matcher(said);
        Matcher error = NODE_ERROR.matcher(said);
        findings.syntax(
            place.find() ? number(place.group(1)) : 0, 0, error.find() ? error.group(1) : said);
      }
      case BASH -> {
        Matcher line = BASH.matcher(said);
        boolean known = line.find();
        findings.syntax(known ? number(line.group(1)) : 0, 0, known ? line.group(2) : said);
      }
      case R -> {
        Matcher place = R.matcher(said);
        boolean known = place.find();
        findings.syntax(
            known ? number(place.group(1)) : 0,
            known ? number(place.group(2)) : 0,
            known ? place.group(3) : said);
      }
      case PYTHON -> findings.syntax(0, 0, said);
    }
    return findings;
  }

  List<Finding> found() {
    return found;
  }

  List<String> imports() {
    return imports;
  }

  /** After how many lines imports may stand. */
  int importsAfter() {
    return importsAfter;
  }

  private void take(String[] parts) {
    if (parts[0].equals("syntax") && parts.length == 4) {
      syntax(number(parts[1]), number(parts[2]), parts[3]);
    } else if (parts[0].equals("danger") && parts.length == 6) {
      found.add(
          new Finding(
              Text.printable(parts[1], MAX_MESSAGE),
              severity(parts[2]),
              number(parts[3]),
              number(parts[4]),
              Text.printable(parts[5], MAX_MESSAGE)));
    } else if (parts[0].equals("import") && parts.length == 3) {
      String line = Text.printable(parts[2], MAX_MESSAGE);
      imports.add(line);
      found.add(new Finding("missing-import", Severity.INFO, number(parts[1]), 0, line));
    } else if (parts[0].equals("end") && parts.length == 2) {
      importsAfter = number(parts[1]);
    }
  }

  private void syntax(int line, int column, String message) {
    found.add(
        new Finding(
            "syntax", Severity.ERROR, line, column, Text.printable(message.strip(), MAX_MESSAGE)));
  }

  private static Severity severity(String name) {
    return switch (name.toUpperCase(Locale.ROOT)) {
      case "CRITICAL" -> Severity.CRITICAL;
      case "HIGH" -> Severity.HIGH;
      default -> Severity.MEDIUM;
    };
  }

  private static int number(String text) {
    try {
      return Math.clamp(Long.parseLong(text), 0, MAX_LINE);
    } catch (NumberFormatException e) {
      return 0;
    }
  }
}
