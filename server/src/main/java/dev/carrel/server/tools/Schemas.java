package dev.carrel.server.tools;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;

/** JSON that is written out in the source. */
final class Schemas {
  private static final JsonMapper MAPPER = JsonMapper.builder().build();

  private Schemas() {}

  static ObjectNode object() {
    return MAPPER.createObjectNode();
  }

  static ObjectNode of(String json) {
    try {
      return (ObjectNode) MAPPER.readTree(json);
    } catch (JsonProcessingException e) {
      throw new IllegalStateException("a schema is not JSON: " + json, e);
    }
  }
}
