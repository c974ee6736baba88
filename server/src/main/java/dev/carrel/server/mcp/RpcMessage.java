package dev.carrel.server.mcp;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.jspecify.annotations.Nullable;

/** A JSON-RPC message from a client. */
sealed interface RpcMessage {
  int MAX_ID = 256;

  /** Wants an answer. */
  record Request(JsonNode id, String method, ObjectNode params) implements RpcMessage {
    /** A member of {@code params._meta}; null when it is absent. */
    @Nullable JsonNode meta(String key) {
      return metaOf(params, key);
    }

    ObjectNode answer(ObjectNode result) {
      ObjectNode message = Protocol.object().put("jsonrpc", "2.0");
      message.set("id", id);
      message.set("result", result);
      return message;
    }
  }

  /** Wants none. */
  record Notice(String method, ObjectNode params) implements RpcMessage {}

  /** Answers a request of ours: a result, or an error. */
  record Reply(String id, @Nullable JsonNode result, @Nullable JsonNode error)
      implements RpcMessage {}

  static RpcMessage of(JsonNode node) {
    if (node.isArray()) {
      throw RpcError.malformed(Protocol.INVALID_REQUEST, "batches are not part of the protocol");
    }
    if (!node.isObject() || !"2.0".equals(node.path("jsonrpc").textValue())) {
      throw RpcError.malformed(Protocol.INVALID_REQUEST, "not a JSON-RPC 2.0 message");
    }
    JsonNode id = node.get("id");
    JsonNode method = node.get("method");
    if (method == null) {
      return reply(node, id);
    }
    if (!method.isTextual()) {
      throw RpcError.malformed(Protocol.INVALID_REQUEST, "method must be a string");
    }
    ObjectNode params = params(node.get("params"));
    if (id == null) {
      return new Notice(method.textValue(), params);
    }
    boolean good = id.isIntegralNumber() || id.isTextual();
    if (!good || id.asText().length() > MAX_ID) {
      throw RpcError.malformed(
          Protocol.INVALID_REQUEST, "id must be a string or a whole number, not longer than 256");
    }
    return new Request(id, method.textValue(), params);
  }

  /** The id to answer under when the message is no good; null when it has none that is usable. */
  static @Nullable JsonNode idOf(JsonNode node) {
    JsonNode id = node.get("id");
    return id != null && (id.isIntegralNumber() || id.isTextual()) && id.asText().length() <= MAX_ID
        ? id
        : null;
  }

  private static ObjectNode params(@Nullable JsonNode params) {
    return switch (params) {
      case null -> Protocol.object();
      case ObjectNode object -> object;
      default ->
          throw RpcError.malformed(Protocol.INVALID_REQUEST, "params must be an object if present");
    };
  }

  private static Reply reply(JsonNode node, @Nullable JsonNode id) {
    boolean one = node.has("result") != node.has("error");
    if (id == null || !id.isTextual() || !one) {
      throw RpcError.malformed(
          Protocol.INVALID_REQUEST, "neither a request nor a notification nor an answer");
    }
    return new Reply(id.textValue(), node.get("result"), node.get("error"));
  }

  static @Nullable JsonNode metaOf(ObjectNode params, String key) {
    JsonNode value = params.path(Protocol.META).get(key);
    return value == null || value.isNull() ? null : value;
  }
}
