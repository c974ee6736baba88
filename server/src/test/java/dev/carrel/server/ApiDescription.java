package dev.carrel.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import dev.carrel.server.LiveServer.Answer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** spec/openapi.yaml, able to say whether an answer is as described. */
public final class ApiDescription {
  /** May come from any path, as the description's introduction says. */
  private static final Set<Integer> EVERYWHERE = Set.of(400, 403, 404, 405);

  private final JsonNode root;

  private ApiDescription(JsonNode root) {
    this.root = root;
  }

  static ApiDescription load() {
    try {
      Path file = Path.of(System.getProperty("carrel.root"), "spec", "openapi.yaml");
      return new ApiDescription(new YAMLMapper().readTree(file.toFile()));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  public JsonNode root() {
    return root;
  }

  /** Every described operation, as {@code GET /path}. */
  public Set<String> operations() {
    var operations = new TreeSet<String>();
    for (Map.Entry<String, JsonNode> path : root.get("paths").properties()) {
      for (Map.Entry<String, JsonNode> operation : path.getValue().properties()) {
        if (!operation.getKey().equals("parameters")) {
          operations.add(operation.getKey().toUpperCase(Locale.ROOT) + " " + path.getKey());
        }
      }
    }
    return operations;
  }

  /** Fails unless the answer has a described status and body. */
  void check(String method, String path, Answer answer) {
    JsonNode operation = operation(method, path);
    String type = answer.header("Content-Type");
    if (type.equals("application/problem+json") && !method.equals("HEAD")) {
      conforms("Problem", answer.json());
    }
    if (operation == null) {
      return;
    }
    JsonNode response = operation.get("responses").get(Integer.toString(answer.status()));
    if (response == null) {
      assertThat(EVERYWHERE)
          .as("%s %s answered %s: %s", method, path, answer.status(), answer.text())
          .contains(answer.status());
      return;
    }
    JsonNode content = resolve(response).path("content").path("application/json");
    if (type.equals("application/json") && content.has("schema")) {
      check(content.get("schema"), answer.json(), method + " " + path);
    }
  }

  /** Fails unless the value is as the named schema says, with no field beyond it. */
  public void conforms(String schema, JsonNode value) {
    check(root.at("/components/schemas/" + schema), value, schema);
  }

  private @Nullable JsonNode operation(String method, String path) {
    for (Map.Entry<String, JsonNode> entry : root.get("paths").properties()) {
      if (fits(entry.getKey(), path)) {
        return entry.getValue().get(method.toLowerCase(Locale.ROOT));
      }
    }
    return null;
  }

  private static boolean fits(String template, String path) {
    String pattern = template.replace("{path}", ".+").replaceAll("\\{\\w+}", "[^/]+");
    return path.matches(pattern);
  }

  private JsonNode resolve(JsonNode node) {
    return node.has("$ref") ? root.at(node.get("$ref").asText().substring(1)) : node;
  }

  private void check(JsonNode reference, JsonNode value, String where) {
    JsonNode schema = resolve(reference);
    if (schema.has("oneOf")) {
      checkOneOf(schema, value, where);
      return;
    }
    if (schema.has("type")) {
      assertThat(types(schema.get("type"))).as(where + " = " + value).contains(typeOf(value));
    }
    if (schema.has("enum") && !value.isNull()) {
      assertThat(schema.get("enum").valueStream().map(JsonNode::asText))
          .as(where)
          .contains(value.asText());
    }
    if (value.isObject()) {
      checkObject(schema, value, where);
    }
    if (value.isArray() && schema.has("items")) {
      for (JsonNode item : value) {
        check(schema.get("items"), item, where + "[]");
      }
    }
  }

  private void checkObject(JsonNode schema, JsonNode value, String where) {
    for (JsonNode name : schema.path("required")) {
      assertThat(value.has(name.asText())).as("%s has %s in %s", where, name, value).isTrue();
    }
    for (Map.Entry<String, JsonNode> field : value.properties()) {
      JsonNode described = schema.path("properties").get(field.getKey());
      if (described == null) {
        described = schema.get("additionalProperties");
      }
      if (described == null && schema.has("properties")) {
        fail(where + "." + field.getKey() + " is not described");
      }
      if (described != null) {
        check(described, field.getValue(), where + "." + field.getKey());
      }
    }
  }

  private void checkOneOf(JsonNode schema, JsonNode value, String where) {
    List<AssertionError> failures = new ArrayList<>();
    for (JsonNode option : schema.get("oneOf")) {
      try {
        check(option, value, where);
        return;
      } catch (AssertionError e) {
        failures.add(e);
      }
    }
    throw failures.getFirst();
  }

  private static List<String> types(JsonNode type) {
    var types = new ArrayList<String>();
    if (type.isArray()) {
      type.forEach(one -> types.add(one.asText()));
    } else {
      types.add(type.asText());
    }
    if (types.contains("number")) {
      types.add("integer");
    }
    return types;
  }

  private static String typeOf(JsonNode value) {
    return switch (value.getNodeType()) {
      case NULL -> "null";
      case BOOLEAN -> "boolean";
      case NUMBER -> value.isIntegralNumber() ? "integer" : "number";
      case STRING -> "string";
      case ARRAY -> "array";
      case OBJECT -> "object";
      default -> "nothing";
    };
  }
}
