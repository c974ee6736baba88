package dev.carrel.server.tools;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.carrel.control.Control;
import dev.carrel.control.context.Context;
import dev.carrel.control.exec.Exec;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.control.sandbox.SandboxUsage;
import dev.carrel.server.mcp.ToolResult;
import dev.carrel.spi.SandboxId;

/** How a session stands. */
final class SessionReport {
  private static final int MAX_EXECS = 20;

  private final Control control;
  private final Caller caller;

  SessionReport(Control control, Caller caller) {
    this.control = control;
    this.caller = caller;
  }

  ToolResult of(SandboxId id) {
    return CodeTool.result(node(id));
  }

  ObjectNode node(SandboxId id) {
    SandboxUsage usage = control.sandboxes().usage(caller, id);
    Sandbox sandbox = usage.sandbox();
    ObjectNode node =
        Schemas.object()
            .put(Sessions.ARGUMENT, id.value())
            .put("status", sandbox.status().wireName())
            .put("runtime", Sessions.language(sandbox).wireName())
            .put("image", sandbox.image())
            .put("engine", sandbox.engine())
            .put("namespace", sandbox.namespace());
    if (sandbox.failure() != null) {
      node.put("failure", sandbox.failure().cause() + ": " + sandbox.failure().message());
    }
    node.set("limits", limits(sandbox));
    node.putObject("usage")
        .put("memory_bytes", usage.usage().memoryBytes())
        .put("cpu_ms", usage.usage().cpuNanos() / 1_000_000)
        .put("processes", usage.usage().pids());
    var contexts = node.putArray("interpreters");
    for (Context context : control.contexts().list(caller, id)) {
      contexts
          .addObject()
          .put("id", context.id().value())
          .put("language", context.language().wireName())
          .put("version", context.languageVersion())
          .put("status", context.status().wireName())
          .put("executions", context.executionCount());
    }
    var execs = node.putArray("commands");
    for (Exec exec : control.execs().list(caller, id).stream().limit(MAX_EXECS).toList()) {
      execs
          .addObject()
          .put("id", exec.id().value())
          .put("command", exec.line())
          .put("running", exec.running());
    }
    return node;
  }

  static ObjectNode limits(Sandbox sandbox) {
    return Schemas.object()
        .put("memory_mb", sandbox.limits().memory().mebibytes())
        .put("cpu_cores", sandbox.limits().cpus())
        .put("disk_mb", sandbox.limits().disk().mebibytes())
        .put("processes", sandbox.limits().pids());
  }
}
