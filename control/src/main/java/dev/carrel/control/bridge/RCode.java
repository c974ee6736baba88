package dev.carrel.control.bridge;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Map;

/** JSON as an expression of R, which reads none by itself. */
final class RCode {
  private final StringBuilder code = new StringBuilder();

  private RCode() {}

  static String of(JsonNode value) {
    var r = new RCode();
    r.value(value);
    return r.code.append('\n').toString();
  }

  /** A table as a data frame. */
  static String table(JsonNode table) {
    var r = new RCode();
    r.code.append("data.frame(check.names=FALSE,stringsAsFactors=FALSE");
    for (JsonNode column : table.path("columns")) {
      r.code.append(',');
      r.text(column.path("name").asText());
      r.code.append('=');
      r.column(column.path("type").asText(), column.path("values"));
    }
    return r.code.append(")\n").toString();
  }

  private void column(String type, JsonNode values) {
    boolean time = type.equals("datetime");
    if (time) {
      code.append("as.POSIXct(sub(\"[.][0-9]+\",\"\",sub(\"Z$\",\"\",");
    }
    String absent =
        switch (type) {
          case "integer" -> "NA_integer_";
          case "number" -> "NA_real_";
          case "boolean" -> "NA";
          default -> "NA_character_";
        };
    code.append("c(");
    String comma = "";
    for (JsonNode value : values) {
      code.append(comma);
      comma = ",";
      if (value.isNull()) {
        code.append(absent);
      } else {
        scalar(value);
        // An integer of R has 32 bits; what is larger stays a number.
        if (type.equals("integer") && value.canConvertToInt()) {
          code.append('L');
        }
      }
    }
    code.append(')');
    if (values.isEmpty()) {
      code.append("[0]");
    }
    if (time) {
      code.append(
          ")),tz=\"UTC\",tryFormats=c(\"%Y-%m-%dT%H:%M:%S\",\"%Y-%m-%dT%H:%M\",\"%Y-%m-%d\"))");
    }
  }

  private void value(JsonNode value) {
    if (value.isObject()) {
      // A list without members would lose that it had names.
      code.append(value.isEmpty() ? "setNames(list(),character())" : "list(");
      String comma = "";
      for (Map.Entry<String, JsonNode> member : value.properties()) {
        code.append(comma);
        comma = ",";
        text(member.getKey());
        code.append('=');
        value(member.getValue());
      }
      code.append(value.isEmpty() ? "" : ")");
    } else if (value.isArray()) {
      boolean even = !value.isEmpty() && uniform(value);
      code.append(even ? "c(" : "list(");
      String comma = "";
      for (JsonNode one : value) {
        code.append(comma);
        comma = ",";
        value(one);
      }
      code.append(')');
    } else {
      scalar(value);
    }
  }

  private static boolean uniform(JsonNode array) {
    JsonNode first = array.get(0);
    for (JsonNode one : array) {
      boolean alike =
          (first.isNumber() && one.isNumber())
              || (first.isTextual() && one.isTextual())
              || (first.isBoolean() && one.isBoolean());
      if (!alike) {
        return false;
      }
    }
    return true;
  }

  private void scalar(JsonNode value) {
    if (value.isTextual()) {
      text(value.textValue());
    } else if (value.isBoolean()) {
      code.append(value.booleanValue() ? "TRUE" : "FALSE");
    } else if (value.isNumber()) {
      code.append(value.asText());
    } else {
      code.append("NULL");
    }
  }

  /** In quotes, with everything but plain letters and digits escaped: no text becomes code. */
  private void text(String text) {
    code.append('"');
    text.codePoints()
        .forEach(
            c -> {
              boolean plain =
                  (c >= 'a' && c <= 'z')
                      || (c >= 'A' && c <= 'Z')
                      || (c >= '0' && c <= '9')
                      || " _-.,:;/()".indexOf(c) >= 0;
              if (plain) {
                code.appendCodePoint(c);
              } else if (c != 0) {
                code.append("\\U{").append(Integer.toHexString(c)).append('}');
              }
              // Escaped it can be many times as long as it was.
              if (code.length() > Bridge.MAX_BYTES) {
                throw Bridge.tooLarge();
              }
            });
    code.append('"');
  }
}
