package dev.carrel.server.tools;

import dev.carrel.control.files.Grep;
import dev.carrel.spi.Text;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** What a search found, as agents read it. */
public final class GrepText {
  private GrepText() {}

  /**
   * @param mode {@code content}, {@code files_only} or {@code count}
   * @param maxLine characters of a line that are shown
   */
  public static String of(Grep.Result found, String mode, int maxLine) {
    if (found.matches().isEmpty()) {
      return "No matches found";
    }
    var byFile = new LinkedHashMap<String, List<Grep.Match>>();
    for (Grep.Match match : found.matches()) {
      byFile.computeIfAbsent(match.path(), _ -> new ArrayList<>()).add(match);
    }
    return switch (mode) {
      case "files_only" -> String.join("\n", byFile.keySet()) + cut(found);
      case "count" -> counts(byFile) + cut(found);
      default -> lines(byFile, found, maxLine);
    };
  }

  private static String lines(
      Map<String, List<Grep.Match>> byFile, Grep.Result found, int maxLine) {
    var text = new StringBuilder("Found " + found.count() + " matches\n");
    byFile.forEach(
        (path, matches) -> {
          text.append(path).append(":\n");
          for (Grep.Match match : matches) {
            String line = match.text();
            boolean shortened = line.length() > maxLine;
            text.append((match.context() ? "  Line %d- " : "  Line %d: ").formatted(match.line()))
                .append(Text.head(line, maxLine))
                .append(shortened || match.cut() ? "...\n" : "\n");
          }
        });
    return text.toString().stripTrailing() + cut(found);
  }

  private static String counts(Map<String, List<Grep.Match>> byFile) {
    return byFile.entrySet().stream()
        .map(
            file ->
                file.getKey()
                    + ":"
                    + file.getValue().stream().filter(match -> !match.context()).count())
        .collect(Collectors.joining("\n"));
  }

  private static String cut(Grep.Result found) {
    return found.truncated()
        ? "\n(only the first are shown; narrow the pattern, the path or the glob to see others)"
        : "";
  }
}
