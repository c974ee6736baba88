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
          verdict(row) + ratio(row));
    }
    if (rows.stream().anyMatch(this::metByFloor)) {
      out.println("floor: missed in time, met as a multiple of its floor, which was slower here");
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
          .put("met_by_floor", metByFloor(row))
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

  /** Neither in time nor beside their floors. */
  List<Row> missed() {
    return rows.stream().filter(row -> !row.met() && !metByFloor(row)).toList();
  }

  /** Missed in time alone. */
  List<Row> metByFloor() {
    return rows.stream().filter(this::metByFloor).toList();
  }

  private boolean metByFloor(Row row) {
    double reference = reference(row);
    return !row.met() && reference > 0 && row.metBeside(reference);
  }

  private String verdict(Row row) {
    if (row.goal() == null) {
      return "";
    }
    return row.met() ? "met    " : metByFloor(row) ? "floor  " : "MISSED ";
  }

  private String ratio(Row row) {
    double reference = reference(row);
    if (reference <= 0) {
      return "";
    }
    String ratio = String.format(Locale.ROOT, "%.2f× %s", row.value() / reference, row.beside());
    if (row.there() == null || row.goal() == null) {
      return ratio;
    }
    String sign = row.lowerIsBetter() ? "≤" : "≥";
    return ratio + String.format(Locale.ROOT, " (%s %.2f×)", sign, row.goal() / row.there());
  }

  /** The last one that was measured before it. */
  private double reference(Row row) {
    return rows.subList(0, rows.indexOf(row)).reversed().stream()
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
