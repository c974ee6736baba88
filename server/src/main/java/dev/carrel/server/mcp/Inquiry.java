package dev.carrel.server.mcp;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

/**
 * Something that the client has to answer before a request can go on.
 *
 * @param key by which its answer is found
 */
public record Inquiry(String key, Kind kind, ObjectNode params) {
  /** Asks the person at the client to fill in a form. */
  public static Inquiry form(String key, String message, ObjectNode schema) {
    ObjectNode params = Protocol.object().put("message", message);
    params.set("requestedSchema", schema);
    return new Inquiry(key, Kind.ELICITATION, params);
  }

  /** Whether this can be an answer to it. */
  boolean isAnsweredBy(JsonNode answer) {
    if (!answer.isObject()) {
      return false;
    }
    return switch (kind) {
      case ELICITATION ->
          switch (answer.path("action").asText()) {
            case "accept" -> answer.path("content").isObject();
            case "decline", "cancel" -> true;
            default -> false;
          };
      case SAMPLING -> answer.path("role").isTextual() && answer.has("content");
      case ROOTS -> answer.path("roots").isArray();
    };
  }

  ObjectNode toJson() {
    ObjectNode request = Protocol.object().put("method", kind.method);
    request.set("params", params);
    return request;
  }

  /** What is asked of the client. */
  public enum Kind {
    ELICITATION("elicitation/create", "elicitation"),
    SAMPLING("sampling/createMessage", "sampling"),
    ROOTS("roots/list", "roots");

    private final String method;
    private final String capability;

    Kind(String method, String capability) {
      this.method = method;
      this.capability = capability;
    }

    String method() {
      return method;
    }

    /** What a client must have declared to be asked. */
    String capability() {
      return capability;
    }
  }
}
