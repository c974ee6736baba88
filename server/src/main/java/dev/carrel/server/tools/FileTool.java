package dev.carrel.server.tools;

import dev.carrel.server.mcp.Call;
import dev.carrel.server.mcp.Tool;
import dev.carrel.server.mcp.ToolResult;
import dev.carrel.spi.SandboxException;

/** A tool whose results are texts, and whose failures are, too. */
record FileTool(Tool.About info, CodeTool.Body body) implements Tool {
  @Override
  public ToolResult call(Call call) throws Exception {
    return body.run(call);
  }

  @Override
  public ToolResult fail(Call call, SandboxException e) {
    return ToolResult.error("Error: " + e.message() + e.hint().map(hint -> "\n" + hint).orElse(""));
  }
}
