package dev.carrel.server.tools;

import com.fasterxml.jackson.databind.JsonNode;
import dev.carrel.control.Control;
import dev.carrel.control.packages.InstallPackages;
import dev.carrel.control.packages.Installation;
import dev.carrel.control.packages.PackageClient;
import dev.carrel.server.http.Json;
import dev.carrel.server.mcp.Call;
import dev.carrel.server.mcp.Tool;
import dev.carrel.server.mcp.ToolResult;
import dev.carrel.server.rest.PackageRoutes;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.Language;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.util.ArrayList;
import java.util.List;

/** Packages into sessions. */
final class PackageTools {
  private static final String WAY_OUT =
      "ask a person for the host with request_egress (tools of the set security), or begin a"
          + " session with presets [\"packages\"]";

  private final Control control;
  private final Sessions sessions;

  private PackageTools(Control control, Sessions sessions) {
    this.control = control;
    this.sessions = sessions;
  }

  static List<Tool> of(Control control, Sessions sessions) {
    var tools = new PackageTools(control, sessions);
    return List.of(
        new CodeTool(
            new Tool.About(
                "install_package",
                "Install packages",
                """
                Installs packages into a session by pip, npm or R, through its network policy, which \
                must allow the package index (preset packages). Answers with the versions that are \
                there now.""",
                Schemas.of(
                    """
                    {"type":"object","required":["session_id"],"properties":{
                      "session_id":{"type":"string","minLength":1},
                      "package":{"type":"string","minLength":1,"maxLength":214,"description":"For example six==1.17.0"},
                      "packages":{"type":"array","minItems":1,"maxItems":100,"items":{"type":"string","minLength":1,"maxLength":214}},
                      "manager":{"type":"string","enum":["pip","npm","r"],"description":"Default: that of the session's language"},
                      "scripts":{"type":"boolean","default":false,"description":"Whether packages may run code while they are installed"}}}"""),
                Schemas.of(
                    """
                    {"type":"object","required":["success"],"properties":{
                      "success":{"type":"boolean"},"manager":{"type":"string"},
                      "packages":{"type":"array","items":{"type":"object","required":["name"],"properties":{
                        "name":{"type":"string"},"version":{"type":["string","null"]}}}},
                      "exit_code":{"type":"integer"},"timed_out":{"type":"boolean"},
                      "stdout":{"type":"string"},"stderr":{"type":"string"},
                      "duration_ms":{"type":"number"},"exec_id":{"type":"string"},
                      "error":{"type":"string"},"hint":{"type":"string"}}}"""),
                Tool.Effect.CHANGE),
            new CodeFailures(control, sessions),
            tools::install));
  }

  private ToolResult install(Call call) throws InterruptedException {
    SandboxId session = sessions.named(call);
    JsonNode arguments = call.arguments();
    var wanted = new ArrayList<>(Sessions.words(arguments.path("packages")));
    if (arguments.has("package")) {
      wanted.add(call.text("package"));
    }
    String manager = arguments.path("manager").textValue();
    PackageClient client =
        manager == null
            ? usual(sessions.language(call.caller(), session))
            : PackageClient.parse(manager);
    var request = new InstallPackages(client, wanted, arguments.path("scripts").asBoolean());
    return CodeTool.result(Json.tree(PackageRoutes.View.of(install(call, session, request))));
  }

  private Installation install(Call call, SandboxId session, InstallPackages request)
      throws InterruptedException {
    try {
      return control.packages().install(call.caller(), session, request);
    } catch (SandboxException e) {
      throw e.code() == ErrorCode.FORBIDDEN ? e.withHint(WAY_OUT) : e;
    }
  }

  static PackageClient usual(Language language) {
    return switch (language) {
      case PYTHON -> PackageClient.PIP;
      case NODE -> PackageClient.NPM;
      case R -> PackageClient.R;
      case BASH -> throw SandboxException.invalid("manager", "is required in a session of bash");
    };
  }
}
