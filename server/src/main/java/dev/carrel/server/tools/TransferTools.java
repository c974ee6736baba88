package dev.carrel.server.tools;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.carrel.control.Control;
import dev.carrel.control.transfer.Exported;
import dev.carrel.server.http.Fields;
import dev.carrel.server.http.Json;
import dev.carrel.server.mcp.Call;
import dev.carrel.server.mcp.Content;
import dev.carrel.server.mcp.Tool;
import dev.carrel.server.mcp.ToolResult;
import dev.carrel.server.rest.BridgeRequest;
import dev.carrel.server.rest.ExportRoutes;
import dev.carrel.server.rest.ImportFiles;
import dev.carrel.spi.SandboxId;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** Files into sessions and out of them. */
final class TransferTools {
  private static final String RESULT =
      """
      {"type":"object","required":["success"],"properties":{
        "success":{"type":"boolean"},"files":{"type":"array","items":{"type":"object"}},
        "error":{"type":"string"},"hint":{"type":"string"}}}""";

  private final Control control;
  private final Sessions sessions;

  private TransferTools(Control control, Sessions sessions) {
    this.control = control;
    this.sessions = sessions;
  }

  static List<Tool> of(Control control, Sessions sessions) {
    var tools = new TransferTools(control, sessions);
    var failures = new CodeFailures(control, sessions);
    return List.of(
        new CodeTool(
            new Tool.About(
                "import_files",
                "Bring files in",
                """
                Brings files or folders into a session: text or base64 that you give, an address \
                (the session's network policy must allow the host), what another of your sessions \
                has exported, or a path of the host inside folders that the operator opened. Each \
                is tried for itself. With unpack, a zip or tar is unpacked at the destination.""",
                Schemas.of(
                    """
                    {"type":"object","required":["session_id","files"],"properties":{
                      "session_id":{"type":"string","minLength":1,"description":"Where they go"},
                      "files":{"type":"array","minItems":1,"maxItems":100,"items":{"type":"object","properties":{
                        "source":{"type":"string","minLength":1,"description":"A path of the host, or an address"},
                        "url":{"type":"string","minLength":1},
                        "session_id":{"type":"string","minLength":1,"description":"A session that exported path"},
                        "path":{"type":"string","minLength":1},
                        "file_name":{"type":"string","minLength":1},
                        "file_content":{"type":"string"},
                        "encoding":{"type":"string","enum":["text","base64"],"default":"text"},
                        "destination":{"type":"string","description":"Default: its name, in /workspace"},
                        "unpack":{"type":"boolean","default":false}}}}}}"""),
                Schemas.of(RESULT),
                Tool.Effect.CHANGE),
            failures,
            tools::imports),
        new CodeTool(
            new Tool.About(
                "export_files",
                "Let files out",
                """
                Lets files or folders of /workspace out: answers with a link to each that anybody \
                can download it by for a while (a folder as a zip), and lets import_files bring \
                them into your other sessions. It is no copy: a download gives what is there then.""",
                Schemas.of(
                    """
                    {"type":"object","required":["session_id","files"],"properties":{
                      "session_id":{"type":"string","minLength":1},
                      "files":{"type":"array","minItems":1,"maxItems":100,"items":{"type":"object",
                        "required":["source"],"properties":{
                          "source":{"type":"string","minLength":1,"description":"A path in /workspace"},
                          "destination":{"type":"string"}}}},
                      "expires_in_seconds":{"type":"integer","minimum":1,"maximum":604800}}}"""),
                Schemas.of(RESULT),
                Tool.Effect.SET),
            failures,
            tools::exports),
        new CodeTool(
            new Tool.About(
                "bridge_data",
                "Carry a value",
                """
                Carries a value between interpreters. With value: gives the variable name of the \
                session that value. With to_language, to_session_id or to_name: carries what the \
                variable holds there. With neither: tells what it holds. format table carries data \
                frames (in Node arrays of objects) with the types of their columns.""",
                Schemas.of(
                    """
                    {"type":"object","required":["session_id"],"properties":{
                      "session_id":{"type":"string","minLength":1},
                      "name":{"type":"string","minLength":1,"maxLength":64,"description":"The variable"},
                      "key":{"type":"string","minLength":1,"maxLength":64,"description":"The same"},
                      "value":{"description":"Any JSON"},
                      "language":{"type":"string","enum":["python","node","r","bash","shell"],
                        "description":"Default: that of the session"},
                      "context_id":{"type":"string","minLength":1,"description":"An interpreter; see inspect_state"},
                      "to_session_id":{"type":"string","minLength":1},
                      "to_context_id":{"type":"string","minLength":1},
                      "to_language":{"type":"string","enum":["python","node","r","bash","shell"]},
                      "to_name":{"type":"string","minLength":1,"maxLength":64},
                      "format":{"type":"string","enum":["json","table"],"default":"json"}}}"""),
                Schemas.of("{\"type\":\"object\"}"),
                Tool.Effect.CHANGE),
            failures,
            tools::bridge));
  }

  private ToolResult bridge(Call call) throws IOException, InterruptedException {
    SandboxId session = sessions.named(call);
    ObjectNode arguments = call.arguments();
    if (arguments.has("to_session_id")) {
      sessions.awake(call.caller(), new SandboxId(call.text("to_session_id")));
    }
    if (!arguments.has("name") && arguments.has("key")) {
      arguments = arguments.deepCopy();
      arguments.set("name", arguments.get("key"));
    }
    BridgeRequest request =
        BridgeRequest.parse(
            session, sessions.language(call.caller(), session), Fields.of(arguments));
    return CodeTool.result(Json.tree(request.run(control.bridge(), call.caller())));
  }

  private ToolResult imports(Call call) throws IOException, InterruptedException {
    var done =
        control
            .imports()
            .run(
                call.caller(),
                sessions.named(call),
                ImportFiles.parse(Fields.of(call.arguments())));
    return CodeTool.result(Json.tree(ImportFiles.View.of(done)));
  }

  private ToolResult exports(Call call) throws InterruptedException {
    SandboxId session = sessions.named(call);
    var paths = new ArrayList<String>();
    call.arguments().path("files").forEach(file -> paths.add(file.path("source").asText()));
    JsonNode seconds = call.arguments().path("expires_in_seconds");
    List<Exported> done =
        control
            .exports()
            .add(
                call.caller(),
                session,
                paths,
                seconds.isNumber() ? Duration.ofSeconds(seconds.longValue()) : null);
    ObjectNode node = Json.tree(ExportRoutes.View.of(done, call.address()));
    var blocks = new ArrayList<ObjectNode>();
    for (JsonNode file : node.path("files")) {
      ((ObjectNode) file).put(Sessions.ARGUMENT, session.value());
    }
    blocks.add(Content.text(node.toString()));
    for (Exported one : done) {
      Long size = one.size();
      if (one.success() && !one.folder() && size != null) {
        blocks.add(
            Content.link(
                SandboxResources.uri(session, one.path()),
                one.path().substring(one.path().lastIndexOf('/') + 1),
                "application/octet-stream",
                size));
      }
    }
    return new ToolResult(blocks, node, false);
  }
}
