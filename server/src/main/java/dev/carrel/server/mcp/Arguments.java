package dev.carrel.server.mcp;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Holds arguments to the plain parts of a schema: types, required members, bounds and choices. What
 * a schema says beyond that is for the client; the tool itself refuses what it cannot use.
 */
final class Arguments {
  private final List<Violation> violations = new ArrayList<>();

  private Arguments() {}

  static List<Violation> check(JsonNode schema, JsonNode value) {
    var arguments = new Arguments();
    arguments.check(schema, value, List.of());
    return arguments.violations;
  }

  private void check(JsonNode schema, JsonNode value, List<String> where) {
    JsonNode type = schema.path("type");
    if (!type.isMissingNode() && !hasType(type, value)) {
      add("type_error", where, "Input should be " + names(type), value);
      return;
    }
    JsonNode choices = schema.path("enum");
    if (choices.isArray() && choices.valueStream().noneMatch(value::equals)) {
      add("enum", where, "Input should be one of " + choices, value);
    }
    if (value.isTextual()) {
      bounds(schema, where, value, "Length", value.textValue().length(), "characters");
    } else if (value.isNumber()) {
      range(schema, value, where);
    } else if (value.isArray()) {
      bounds(schema, where, value, "Items", value.size(), "items");
      for (int i = 0; i < value.size() && schema.has("items"); i++) {
        check(schema.get("items"), value.get(i), below(where, Integer.toString(i)));
      }
    } else if (value.isObject()) {
      members(schema, value, where);
    }
  }

  private void members(JsonNode schema, JsonNode value, List<String> where) {
    for (JsonNode name : schema.path("required")) {
      if (!value.has(name.asText())) {
        add("missing", below(where, name.asText()), "Field required", value);
      }
    }
    JsonNode properties = schema.path("properties");
    JsonNode others = schema.path("additionalProperties");
    for (Map.Entry<String, JsonNode> member : value.properties()) {
      JsonNode known = properties.path(member.getKey());
      List<String> at = below(where, member.getKey());
      if (known.isObject()) {
        check(known, member.getValue(), at);
      } else if (others.isObject()) {
        check(others, member.getValue(), at);
      } else if (others.isBoolean() && !others.booleanValue()) {
        add("extra_forbidden", at, "Extra inputs are not permitted", member.getValue());
      }
    }
  }

  private void range(JsonNode schema, JsonNode value, List<String> where) {
    if (schema.has("minimum") && value.doubleValue() < schema.get("minimum").doubleValue()) {
      add(
          "greater_than_equal",
          where,
          "Input should be greater than or equal to " + schema.get("minimum"),
          value);
    }
    if (schema.has("maximum") && value.doubleValue() > schema.get("maximum").doubleValue()) {
      add(
          "less_than_equal",
          where,
          "Input should be less than or equal to " + schema.get("maximum"),
          value);
    }
  }

  private void bounds(
      JsonNode schema, List<String> where, JsonNode value, String what, int size, String unit) {
    JsonNode min = schema.path("min" + what);
    JsonNode max = schema.path("max" + what);
    if (min.isNumber() && size < min.intValue()) {
      add("too_short", where, "Input should have at least " + min + " " + unit, value);
    }
    if (max.isNumber() && size > max.intValue()) {
      add("too_long", where, "Input should have at most " + max + " " + unit, value);
    }
  }

  private void add(String type, List<String> where, String message, JsonNode value) {
    violations.add(new Violation(type, where, message, value));
  }

  private static boolean hasType(JsonNode type, JsonNode value) {
    if (type.isArray()) {
      return type.valueStream().anyMatch(one -> hasType(one, value));
    }
    return switch (type.asText()) {
      case "string" -> value.isTextual();
      case "integer" -> value.isIntegralNumber() && value.canConvertToLong();
      case "number" -> value.isNumber() && Double.isFinite(value.doubleValue());
      case "boolean" -> value.isBoolean();
      case "object" -> value.isObject();
      case "array" -> value.isArray();
      case "null" -> value.isNull();
      default -> true;
    };
  }

  private static String names(JsonNode type) {
    return type.isArray()
        ? String.join(" or ", type.valueStream().map(JsonNode::asText).toList())
        : "a valid " + type.asText();
  }

  private static List<String> below(List<String> where, String name) {
    var path = new ArrayList<>(where);
    path.add(name);
    return path;
  }
}
