package dev.carrel.server.mcp;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.carrel.spi.SandboxException;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Something a model can call. Called from many threads at once. */
public interface Tool {
  About info();

  /** Interrupting the thread cancels the call. */
  ToolResult call(Call call) throws Exception;

  /** What is said of arguments that are not as the schema says. */
  default ToolResult refuse(List<Violation> violations) {
    return ToolResult.error(
        "Invalid arguments: "
            + violations.stream().map(Violation::words).collect(Collectors.joining("; ")));
  }

  /** What is said of a call that failed. */
  default ToolResult fail(Call call, SandboxException e) {
    return ToolResult.error(e.message() + e.hint().map(hint -> " (" + hint + ")").orElse(""));
  }

  /**
   * What a client is told of it.
   *
   * @param inputSchema of the arguments, which are held to the plain parts of it before the call
   * @param outputSchema of the structured result; null when there is none
   * @param effect what it does to the world
   */
  record About(
      String name,
      String title,
      String description,
      ObjectNode inputSchema,
      @Nullable ObjectNode outputSchema,
      Effect effect) {

    ObjectNode toJson() {
      ObjectNode tool =
          Protocol.object().put("name", name).put("title", title).put("description", description);
      tool.set("inputSchema", inputSchema);
      if (outputSchema != null) {
        tool.set("outputSchema", outputSchema);
      }
      tool.set("annotations", effect.annotations(title));
      return tool;
    }
  }

  /** What a call changes, so that a client can decide whether to ask its user. */
  enum Effect {
    /** Looks only. */
    READ(true, false, true),
    /** Looks only, at what others say. */
    BROWSE(true, false, true),
    /** Adds something, and nothing is lost. */
    ADD(false, false, false),
    /** Adds something, and doing it twice changes nothing more. */
    SET(false, false, true),
    /** May overwrite or delete. */
    CHANGE(false, true, false);

    private final boolean readOnly;
    private final boolean destructive;
    private final boolean idempotent;

    Effect(boolean readOnly, boolean destructive, boolean idempotent) {
      this.readOnly = readOnly;
      this.destructive = destructive;
      this.idempotent = idempotent;
    }

    ObjectNode annotations(String title) {
      return Protocol.object()
          .put("title", title)
          .put("readOnlyHint", readOnly)
          .put("destructiveHint", destructive)
          .put("idempotentHint", idempotent)
          // Everything else happens on this server, most of it in a sandbox.
          .put("openWorldHint", this == BROWSE);
    }
  }
}
