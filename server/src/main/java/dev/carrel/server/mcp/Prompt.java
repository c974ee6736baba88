package dev.carrel.server.mcp;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;

/** A text that a person can put before a model. */
public interface Prompt {
  String name();

  String title();

  String description();

  List<Argument> arguments();

  /** Messages, as {@link #message} makes them. */
  List<ObjectNode> messages(Call call) throws Exception;

  /** What could stand for an argument, by what was typed so far. */
  default List<String> complete(Call call, String argument, String typed) {
    return List.of();
  }

  /** A value that a prompt wants to have. */
  record Argument(String name, String description, boolean required) {}

  static ObjectNode message(String role, ObjectNode content) {
    ObjectNode message = Protocol.object().put("role", role);
    message.set("content", content);
    return message;
  }
}
