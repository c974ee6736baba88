package dev.carrel.server.tools;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.math.BigDecimal;
import java.time.Duration;

/** JSON that is written out in the source. */
final class Schemas {
  private static final JsonMapper MAPPER = JsonMapper.builder().build();

  private Schemas() {}

  static ObjectNode object() {
    return MAPPER.createObjectNode();
  }

  /** As a number of seconds. */
  static String seconds(Duration time) {
    return BigDecimal.valueOf(time.toMillis(), 3).stripTrailingZeros().toPlainString();
  }

  static ObjectNode of(String json) {
    try {
      return (ObjectNode) MAPPER.readTree(json);
    } catch (JsonProcessingException e) {
      throw new IllegalStateException("a schema is not JSON: " + json, e);
    }
  }
}
