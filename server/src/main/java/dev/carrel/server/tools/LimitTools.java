package dev.carrel.server.tools;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.carrel.control.Control;
import dev.carrel.control.sandbox.CreateSandbox;
import dev.carrel.control.sandbox.PatchSandbox;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.control.settings.LiveSettings;
import dev.carrel.server.mcp.Call;
import dev.carrel.server.mcp.Tool;
import dev.carrel.server.mcp.ToolResult;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** What sessions may use. */
final class LimitTools {
  private static final Set<String> TOLD =
      Set.of("memory_mb", "cpu_cores", "pids", "max_memory_mb", "max_cpu_cores", "max_pids");

  private final Control control;

  private LimitTools(Control control) {
    this.control = control;
  }

  static List<Tool> of(Control control, Sessions sessions) {
    var tools = new LimitTools(control);
    return List.of(
        new CodeTool(
            new Tool.About(
                "set_resource_limits",
                "Set limits",
                """
                Sets how much memory, CPU and how many processes a session may use; at once where \
                its engine can. Without a session_id: what sessions get from now on that do not \
                say, which only administrators may set.""",
                Schemas.of(
                    "{\"type\":\"object\",\"properties\":{\"session_id\":{\"type\":\"string\",\"minLength\":1},"
                        + NewSession.LIMITS
                        + "}}"),
                Schemas.of("{\"type\":\"object\"}"),
                Tool.Effect.SET),
            new CodeFailures(control, sessions),
            tools::set));
  }

  private ToolResult set(Call call) {
    CreateSandbox.Size size = NewSession.size(call.arguments());
    if (size.memoryMb() == null && size.cpuCores() == null && size.pids() == null) {
      throw SandboxException.invalid(
          "max_ram_mb", "it, max_cpu_cores or max_processes must be said");
    }
    String session = call.arguments().path(Sessions.ARGUMENT).textValue();
    return session == null ? usual(call, size) : of(call, new SandboxId(session), size);
  }

  private ToolResult of(Call call, SandboxId id, CreateSandbox.Size size) {
    var patch =
        new PatchSandbox(
            size,
            new CreateSandbox.Expiry(null, null, null),
            CreateSandbox.Network.DEFAULT,
            null,
            null);
    Sandbox now = control.sandboxes().patch(call.caller(), id, patch);
    ObjectNode node = Schemas.object().put("success", true).put(Sessions.ARGUMENT, id.value());
    node.set("limits", SessionReport.limits(now));
    return CodeTool.result(node);
  }

  private ToolResult usual(Call call, CreateSandbox.Size size) {
    var changes = new LinkedHashMap<String, @Nullable Object>();
    put(changes, "memory_mb", size.memoryMb());
    put(changes, "cpu_cores", size.cpuCores());
    put(changes, "pids", size.pids() == null ? null : (Object) size.pids().longValue());
    ObjectNode node = Schemas.object().put("success", true);
    ObjectNode limits = node.putObject("limits");
    for (LiveSettings.Entry one : control.settings().change(call.caller(), changes)) {
      if (TOLD.contains(one.setting().name())) {
        limits.putPOJO(one.setting().name(), one.value());
      }
    }
    return CodeTool.result(node);
  }

  private static void put(
      Map<String, @Nullable Object> changes, String name, @Nullable Object value) {
    if (value != null) {
      changes.put(name, value);
    }
  }
}
