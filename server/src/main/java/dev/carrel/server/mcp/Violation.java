package dev.carrel.server.mcp;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.carrel.spi.Text;
import java.util.List;

/**
 * An argument that is not as the schema says.
 *
 * @param where names and positions that lead to it
 */
public record Violation(String type, List<String> where, String message, JsonNode input) {
  private static final int MAX_SHOWN = 200;

  public Violation {
    where = List.copyOf(where);
  }

  public ObjectNode toJson() {
    ObjectNode node = Protocol.object().put("type", type);
    var loc = node.putArray("loc");
    where.forEach(loc::add);
    node.put("msg", message);
    String shown = input.isTextual() ? input.textValue() : input.toString();
    return node.put(
        "input", shown.length() > MAX_SHOWN ? Text.head(shown, MAX_SHOWN) + "…" : shown);
  }

  /** For a person or a model. */
  public String words() {
    return String.join(".", where) + ": " + message;
  }
}
