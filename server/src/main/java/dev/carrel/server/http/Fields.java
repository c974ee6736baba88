package dev.carrel.server.http;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import dev.carrel.spi.SandboxException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The fields of a JSON object from a caller, each read with its type. What is absent or null is
 * null here; what is of the wrong type or out of range is refused with the field's name; what
 * nobody asks for is ignored.
 */
public final class Fields {
  private final JsonNode object;
  private final String prefix;

  private Fields(JsonNode object, String prefix) {
    this.object = object;
    this.prefix = prefix;
  }

  /** An empty body counts as an empty object. */
  public static Fields parse(byte[] body) {
    JsonNode node = body.length == 0 ? JsonNodeFactory.instance.objectNode() : Json.parse(body);
    if (!node.isObject()) {
      throw SandboxException.invalid("body", "must be a JSON object");
    }
    return new Fields(node, "");
  }

  public @Nullable String string(String name) {
    JsonNode node = find(name);
    if (node == null) {
      return null;
    }
    if (!node.isTextual()) {
      throw wrong(name, "must be a string");
    }
    return wellFormed(name, node.textValue());
  }

  public String string(String name, String absent) {
    String value = string(name);
    return value == null ? absent : value;
  }

  public String requiredString(String name) {
    String value = string(name);
    if (value == null) {
      throw missing(name);
    }
    if (value.isEmpty()) {
      throw wrong(name, "must not be empty");
    }
    return value;
  }

  public boolean bool(String name, boolean absent) {
    Boolean value = bool(name);
    return value == null ? absent : value;
  }

  public @Nullable Boolean bool(String name) {
    JsonNode node = find(name);
    if (node == null) {
      return null;
    }
    if (!node.isBoolean()) {
      throw wrong(name, "must be true or false");
    }
    return node.booleanValue();
  }

  public @Nullable Long wholeNumber(String name, long min, long max) {
    JsonNode node = find(name);
    if (node == null) {
      return null;
    }
    // 3.0 is a whole number, too, and what some clients write.
    if (!node.isNumber() || !node.canConvertToExactIntegral()) {
      throw wrong(name, "must be a whole number");
    }
    if (!node.canConvertToLong() || node.longValue() < min || node.longValue() > max) {
      throw wrong(name, "must be between " + min + " and " + max);
    }
    return node.longValue();
  }

  public int wholeNumber(String name, int absent, int min, int max) {
    Long value = wholeNumber(name, min, max);
    return value == null ? absent : value.intValue();
  }

  public int requiredWholeNumber(String name, int min, int max) {
    Long value = wholeNumber(name, min, max);
    if (value == null) {
      throw missing(name);
    }
    return value.intValue();
  }

  public @Nullable Double decimal(String name) {
    JsonNode node = find(name);
    if (node == null) {
      return null;
    }
    if (!node.isNumber()) {
      throw wrong(name, "must be a number");
    }
    double value = node.doubleValue();
    if (!Double.isFinite(value)) {
      throw wrong(name, "is too large");
    }
    return value;
  }

  public @Nullable Map<String, String> stringMap(String name) {
    JsonNode node = find(name);
    if (node == null) {
      return null;
    }
    if (!node.isObject()) {
      throw wrong(name, "must be an object of strings");
    }
    var map = new LinkedHashMap<String, String>();
    node.properties()
        .forEach(
            entry -> {
              if (!entry.getValue().isTextual()) {
                throw wrong(name, "must be an object of strings");
              }
              map.put(
                  wellFormed(name, entry.getKey()), wellFormed(name, entry.getValue().textValue()));
            });
    return map;
  }

  /** A string, or an array of strings. */
  public Optional<List<String>> words(String name) {
    JsonNode node = find(name);
    if (node == null) {
      return Optional.empty();
    }
    if (node.isTextual()) {
      return Optional.of(List.of(wellFormed(name, node.textValue())));
    }
    if (!node.isArray()) {
      throw wrong(name, "must be a string or an array of strings");
    }
    var words = new ArrayList<String>(node.size());
    for (JsonNode word : node) {
      if (!word.isTextual()) {
        throw wrong(name, "must be a string or an array of strings");
      }
      words.add(wellFormed(name, word.textValue()));
    }
    return Optional.of(words);
  }

  public boolean isString(String name) {
    JsonNode node = find(name);
    return node != null && node.isTextual();
  }

  public boolean has(String name) {
    return find(name) != null;
  }

  /** Whether it is there and null, which for a change means something else than absence. */
  public boolean isNull(String name) {
    JsonNode node = object.get(name);
    return node != null && node.isNull();
  }

  public @Nullable Fields object(String name) {
    JsonNode node = find(name);
    if (node == null) {
      return null;
    }
    if (!node.isObject()) {
      throw wrong(name, "must be an object");
    }
    return new Fields(node, prefix + name + ".");
  }

  /** The objects of an array. */
  public List<Fields> objects(String name) {
    JsonNode node = find(name);
    if (node == null) {
      throw missing(name);
    }
    if (!node.isArray()) {
      throw wrong(name, "must be an array of objects");
    }
    var objects = new ArrayList<Fields>(node.size());
    for (JsonNode one : node) {
      String place = name + "[" + objects.size() + "]";
      if (!one.isObject()) {
        throw wrong(place, "must be an object");
      }
      objects.add(new Fields(one, prefix + place + "."));
    }
    return objects;
  }

  /** Any JSON, also null; Java's null when it is not there. */
  public @Nullable JsonNode json(String name) {
    return object.get(name);
  }

  /** Of an object that was read already. */
  public static Fields of(JsonNode object) {
    return new Fields(object, "");
  }

  /** Of all fields, known or not; how they are spaced and ordered makes no difference. */
  public String digest() {
    return Json.digest(object);
  }

  public SandboxException wrong(String name, String message) {
    return SandboxException.invalid(prefix + name, message);
  }

  public SandboxException missing(String name) {
    return wrong(name, "is required");
  }

  private @Nullable JsonNode find(String name) {
    JsonNode node = object.get(name);
    return node == null || node.isNull() ? null : node;
  }

  // JSON can escape half of a surrogate pair; no program, file name or environment could hold it.
  private String wellFormed(String name, String text) {
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (Character.isHighSurrogate(c)
          && i + 1 < text.length()
          && Character.isLowSurrogate(text.charAt(i + 1))) {
        i++;
      } else if (Character.isSurrogate(c)) {
        throw wrong(name, "holds half of a surrogate pair");
      }
    }
    return text;
  }
}
