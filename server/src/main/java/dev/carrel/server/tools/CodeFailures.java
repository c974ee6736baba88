package dev.carrel.server.tools;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.carrel.control.Control;
import dev.carrel.control.sandbox.Failure;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.server.mcp.Call;
import dev.carrel.server.mcp.Content;
import dev.carrel.server.mcp.ToolResult;
import dev.carrel.server.mcp.Violation;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.util.List;

/** What the tools that run code say when they cannot. */
final class CodeFailures {
  private static final String DIED_HINT =
      "The session's sandbox is gone with its variables and processes. Call stop_session, then"
          + " create_session, and find out what used up its memory or killed it before you run"
          + " more: the same code again would end the same way.";

  private final Control control;
  private final Sessions sessions;

  CodeFailures(Control control, Sessions sessions) {
    this.control = control;
    this.sessions = sessions;
  }

  static ToolResult invalid(List<Violation> violations) {
    ObjectNode failure = Schemas.object().put("success", false).put("error", "INVALID_INPUT");
    var details = failure.putArray("details");
    violations.forEach(violation -> details.add(violation.toJson()));
    return failed(failure);
  }

  ToolResult of(Call call, SandboxException e) {
    String session = call.arguments().path(Sessions.ARGUMENT).asText();
    ObjectNode failure = Schemas.object().put("success", false);
    if (e.code() == ErrorCode.SANDBOX_GONE || e.code() == ErrorCode.GUEST_LOST) {
      failure.put("error", "CONTAINER_DIED: " + reason(call, session, e));
      failure.put(Sessions.ARGUMENT, session);
      failure.put("hint", DIED_HINT);
      active(call, failure);
      return failed(failure);
    }
    boolean unknown = e.code() == ErrorCode.SANDBOX_NOT_FOUND;
    failure.put(
        "error",
        unknown ? "ValueError: Session '" + session + "' not found" : type(e) + ": " + e.message());
    failure.put("code", e.code().wireName());
    boolean any = active(call, failure);
    failure.put(
        "hint",
        !unknown && e.hint().isPresent()
            ? e.hint().get()
            : any
                ? "Use one of the active session_ids, or call create_session."
                : "No active sessions. Call create_session first.");
    return failed(failure);
  }

  private String reason(Call call, String session, SandboxException e) {
    try {
      Failure failure = control.sandboxes().get(call.caller(), new SandboxId(session)).failure();
      return failure == null ? e.message() : failure.cause() + ", " + failure.message();
    } catch (SandboxException deletedMeanwhile) {
      return e.message();
    }
  }

  private boolean active(Call call, ObjectNode failure) {
    var array = failure.putArray("active_sessions");
    for (Sandbox sandbox : sessions.active(call.caller())) {
      array
          .addObject()
          .put(Sessions.ARGUMENT, sandbox.id().value())
          .put("runtime", Sessions.language(sandbox).wireName())
          .put("status", sandbox.status().wireName());
    }
    return !array.isEmpty();
  }

  private static String type(SandboxException e) {
    return switch (e.code().kind()) {
      case CALLER, ABSENT, PRECONDITION, RANGE, SIZE -> "ValueError";
      case IDENTITY, PERMISSION -> "PermissionError";
      case CONFLICT, STORAGE, LIMIT, GONE, APP, ENGINE, UNAVAILABLE, BUG -> "RuntimeError";
    };
  }

  private static ToolResult failed(ObjectNode failure) {
    return new ToolResult(List.of(Content.text(failure.toString())), failure, true);
  }
}
