package dev.carrel.bench;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** The lines of one run, in order, and what could not be measured. */
final class Report {
  private final List<Row> rows = new ArrayList<>();
  private final List<String> notRun = new ArrayList<>();

  void add(Row row) {
    rows.add(row);
  }

  void notRun(String what, String why) {
    notRun.add(what + ": " + why);
  }

  void print(PrintWriter out) {
    out.printf(
        Locale.ROOT, "%-46s %11s %11s %11s  %s%n", "operation", "p50", "p95", "goal", "beside");
    for (Row row : rows) {
      out.printf(
          Locale.ROOT,
          "%-46s %11s %11s %11s  %s%n",
          row.name(),
          amount(row.value(), row.unit()),
          row.p95() == null ? "" : amount(row.p95(), row.unit()),
          row.goal() == null
              ? ""
              : (row.lowerIsBetter() ? "≤ " : "≥ ") + amount(row.goal(), row.unit()),
          (row.goal() == null ? "" : row.met() ? "met   " : "MISSED ") + ratio(row));
    }
    notRun.forEach(line -> out.println("not run: " + line));
    out.flush();
  }

  void writeJson(Path file) throws IOException {
    ObjectMapper json = new ObjectMapper();
    ObjectNode root = json.createObjectNode();
    root.put("processors", Runtime.getRuntime().availableProcessors());
    root.put("architecture", System.getProperty("os.arch"));
    root.put("kernel", System.getProperty("os.version"));
    ArrayNode lines = root.putArray("rows");
    for (Row row : rows) {
      ObjectNode line =
          lines
              .addObject()
              .put("name", row.name())
              .put("value", row.value())
              .put("unit", row.unit());
      line.put("p95", row.p95())
          .put("goal", row.goal())
          .put("met", row.met())
          .put("beside", row.beside());
      double reference = reference(row);
      if (reference > 0) {
        line.put("ratio", row.value() / reference);
      }
    }
    ArrayNode missing = root.putArray("not_run");
    notRun.forEach(missing::add);
    Files.writeString(file, json.writerWithDefaultPrettyPrinter().writeValueAsString(root) + "\n");
  }

  List<Row> missed() {
    return rows.stream().filter(row -> !row.met()).toList();
  }

  private String ratio(Row row) {
    double reference = reference(row);
    return reference <= 0
        ? ""
        : String.format(Locale.ROOT, "%.2f× %s", row.value() / reference, row.beside());
  }

  private double reference(Row row) {
    return rows.stream()
        .filter(other -> other.name().equals(row.beside()))
        .mapToDouble(Row::value)
        .findFirst()
        .orElse(0);
  }

  private static String amount(double value, String unit) {
    String number = value >= 100 ? "%.0f" : value >= 10 ? "%.1f" : "%.3f";
    return String.format(Locale.ROOT, number, value) + " " + unit;
  }
}
