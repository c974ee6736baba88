package dev.carrel.server.tools;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.carrel.server.mcp.Call;
import dev.carrel.server.mcp.Content;
import dev.carrel.server.mcp.Tool;
import dev.carrel.server.mcp.ToolResult;
import dev.carrel.server.mcp.Violation;
import dev.carrel.spi.SandboxException;
import java.util.List;

/** A tool whose results are objects, and whose failures are, too. */
record CodeTool(Tool.About info, CodeFailures failures, Body body) implements Tool {
  /** Does the work. */
  interface Body {
    ToolResult run(Call call) throws Exception;
  }

  @Override
  public ToolResult call(Call call) throws Exception {
    return body.run(call);
  }

  @Override
  public ToolResult fail(Call call, SandboxException e) {
    return failures.of(call, e);
  }

  @Override
  public ToolResult refuse(List<Violation> violations) {
    return CodeFailures.invalid(violations);
  }

  /** The same as text and as an object. */
  static ToolResult result(ObjectNode result) {
    return new ToolResult(List.of(Content.text(result.toString())), result, false);
  }
}
