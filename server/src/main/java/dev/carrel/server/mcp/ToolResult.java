package dev.carrel.server.mcp;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a tool gives back.
 *
 * @param structured the same for programs; null when the tool has no such form
 * @param failed whether the model should see it as an error
 */
public record ToolResult(
    List<ObjectNode> content, @Nullable ObjectNode structured, boolean failed) {
  public ToolResult {
    content = List.copyOf(content);
  }

  public static ToolResult text(String text) {
    return new ToolResult(List.of(Content.text(text)), null, false);
  }

  public static ToolResult error(String text) {
    return new ToolResult(List.of(Content.text(text)), null, true);
  }

  ObjectNode toJson() {
    ObjectNode result = Protocol.object();
    var blocks = result.putArray("content");
    content.forEach(blocks::add);
    if (structured != null) {
      result.set("structuredContent", structured);
    }
    if (failed) {
      result.put("isError", true);
    }
    return result;
  }
}
