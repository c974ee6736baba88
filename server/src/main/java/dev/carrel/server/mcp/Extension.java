package dev.carrel.server.mcp;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Optional;

/** Requests beyond the protocol's own, by a name that both sides know. Safe for many threads. */
public interface Extension {
  /** As it stands among the capabilities. */
  String name();

  /** The result, or empty when there is no such method. */
  Optional<ObjectNode> handle(String method, Call call) throws Exception;
}
