package dev.carrel.cli;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.IntStream;

/**
 * Rows in aligned columns. Our own colours in cells do not disturb the alignment; any other control
 * character shows as a question mark, since what cells hold often comes from a sandbox.
 */
final class Table {
  private static final String COLOUR = "\033\\[(?:0|1|2|31|32|33)m";
  private static final Pattern CONTROL =
      Pattern.compile("[\\x00-\\x1a\\x1c-\\x1f\\x7f-\\x9f]|(?!" + COLOUR + ")\033");

  private final List<List<String>> rows = new ArrayList<>();

  Table(List<String> head, List<List<String>> body) {
    if (!head.isEmpty()) {
      rows.add(head);
    }
    for (List<String> row : body) {
      rows.add(row.stream().map(cell -> CONTROL.matcher(cell).replaceAll("?")).toList());
    }
  }

  List<String> lines() {
    int columns = rows.stream().mapToInt(List::size).max().orElse(0);
    int[] widths =
        IntStream.range(0, columns)
            .map(
                column ->
                    rows.stream()
                        .filter(row -> column < row.size())
                        .mapToInt(row -> width(row.get(column)))
                        .max()
                        .orElse(0))
            .toArray();
    return rows.stream().map(row -> line(row, widths)).toList();
  }

  private static String line(List<String> row, int[] widths) {
    var line = new StringBuilder();
    for (int column = 0; column < row.size(); column++) {
      String cell = row.get(column);
      line.append(cell);
      if (column < row.size() - 1) {
        line.repeat(' ', widths[column] - width(cell) + 2);
      }
    }
    return line.toString().stripTrailing();
  }

  private static int width(String cell) {
    String plain = cell.replaceAll(COLOUR, "");
    return plain.codePointCount(0, plain.length());
  }
}
