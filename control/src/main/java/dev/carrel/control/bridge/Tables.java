package dev.carrel.control.bridge;

import com.fasterxml.jackson.databind.JsonNode;
import dev.carrel.spi.SandboxException;
import java.util.HashSet;
import java.util.Set;

/** Columns with types: {@code {"columns":[{"name":…,"type":…,"values":[…]}]}}. */
final class Tables {
  private static final int MAX_COLUMNS = 10_000;

  private Tables() {}

  /** Throws unless it is a table whose values have the types that it says. */
  static void check(JsonNode table) {
    JsonNode columns = table.path("columns");
    if (!columns.isArray() || columns.size() > MAX_COLUMNS) {
      throw wrong("has no columns, or too many");
    }
    Set<String> names = new HashSet<>();
    int rows = columns.isEmpty() ? 0 : columns.get(0).path("values").size();
    for (JsonNode column : columns) {
      if (!column.path("name").isTextual() || !names.add(column.path("name").textValue())) {
        throw wrong("has a column without a name of its own");
      }
      JsonNode values = column.path("values");
      if (!values.isArray() || values.size() != rows) {
        throw wrong("has columns of different lengths");
      }
      String type = column.path("type").asText();
      for (JsonNode value : values) {
        if (!value.isNull() && !fits(type, value)) {
          throw wrong("has a value that is no " + type);
        }
      }
    }
  }

  private static boolean fits(String type, JsonNode value) {
    return switch (type) {
      case "integer" -> value.isIntegralNumber();
      case "number" -> value.isNumber();
      case "boolean" -> value.isBoolean();
      case "string", "datetime" -> value.isTextual();
      default -> throw wrong("has a column of an unknown type");
    };
  }

  private static SandboxException wrong(String what) {
    return SandboxException.invalid("value", "the table " + what);
  }
}
