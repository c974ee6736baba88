package dev.carrel.server.mcp;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;

/** Names and numbers of the protocol. */
final class Protocol {
  /** The revision without sessions. */
  static final String MODERN = "2026-07-28";

  /** The revisions with sessions, newest first. */
  static final List<String> LEGACY = List.of("2025-11-25", "2025-06-18");

  static final String META = "_meta";
  static final String META_VERSION = "io.modelcontextprotocol/protocolVersion";
  static final String META_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";
  static final String META_SERVER = "io.modelcontextprotocol/serverInfo";
  static final String META_LOG_LEVEL = "io.modelcontextprotocol/logLevel";
  static final String META_SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId";

  static final int PARSE_ERROR = -32700;
  static final int INVALID_REQUEST = -32600;
  static final int METHOD_NOT_FOUND = -32601;
  static final int INVALID_PARAMS = -32602;
  static final int INTERNAL_ERROR = -32603;
  static final int HEADER_MISMATCH = -32020;
  static final int MISSING_CAPABILITY = -32021;
  static final int UNSUPPORTED_VERSION = -32022;

  private static final JsonNodeFactory NODES = JsonNodeFactory.instance;

  private Protocol() {}

  static ObjectNode object() {
    return NODES.objectNode();
  }

  static ObjectNode notification(String method, ObjectNode params) {
    ObjectNode message = object().put("jsonrpc", "2.0").put("method", method);
    message.set("params", params);
    return message;
  }
}
