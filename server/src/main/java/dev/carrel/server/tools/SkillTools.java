package dev.carrel.server.tools;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.carrel.control.Control;
import dev.carrel.control.skill.Skill;
import dev.carrel.server.http.Json;
import dev.carrel.server.mcp.Call;
import dev.carrel.server.mcp.Tool;
import dev.carrel.server.mcp.ToolResult;
import dev.carrel.server.rest.SkillRoutes;
import java.util.List;

/** The set {@code skills}, for clients whose models cannot read resources by themselves. */
final class SkillTools {
  private final Control control;
  private final Sessions sessions;

  private SkillTools(Control control, Sessions sessions) {
    this.control = control;
    this.sessions = sessions;
  }

  static List<Tool> of(Control control, Sessions sessions) {
    var tools = new SkillTools(control, sessions);
    var failures = new CodeFailures(control, sessions);
    return List.of(
        new CodeTool(
            new Tool.About(
                "list_skills",
                "List skills",
                """
                Lists the skills that there are: what each is called, what it is for, and where its \
                instructions can be read.""",
                Schemas.of("{\"type\":\"object\",\"properties\":{}}"),
                Schemas.of(
                    """
                    {"type":"object","required":["skills"],"properties":{"skills":{"type":"array","items":{
                      "type":"object","required":["name","description","version","uri"],"properties":{
                        "name":{"type":"string"},"description":{"type":"string"},
                        "version":{"type":"integer"},"uri":{"type":"string"}}}}}}"""),
                Tool.Effect.READ),
            failures,
            tools::list),
        new CodeTool(
            new Tool.About(
                "install_skills",
                "Install skills",
                """
                Gives skills to a session, each in /workspace/skills/ and its name: read SKILL.md \
                there first. One that is there already stays as it is; another version replaces it.""",
                Schemas.of(
                    """
                    {"type":"object","required":["skills"],"properties":{
                      "session_id":{"type":"string","minLength":1,"description":"Left out: your usual sandbox"},
                      "skills":{"type":"array","minItems":1,"maxItems":50,"items":{"type":"string","minLength":1}}}}"""),
                Schemas.of(
                    """
                    {"type":"object","required":["installed","already_installed","not_found","extraction_errors"],
                      "properties":{
                        "installed":{"type":"array","items":{"type":"object"}},
                        "already_installed":{"type":"array","items":{"type":"object"}},
                        "not_found":{"type":"array","items":{"type":"string"}},
                        "extraction_errors":{"type":"array","items":{"type":"object"}}}}"""),
                Tool.Effect.SET),
            failures,
            tools::install));
  }

  private ToolResult list(Call call) {
    ObjectNode node = Schemas.object();
    var array = node.putArray("skills");
    for (Skill skill : control.skills().list(call.caller())) {
      array
          .addObject()
          .put("name", skill.name())
          .put("description", skill.description())
          .put("version", skill.version())
          .put("uri", SkillResources.uri(skill.name(), Skill.MAIN));
    }
    return CodeTool.result(node);
  }

  private ToolResult install(Call call) throws InterruptedException {
    List<String> wanted = Sessions.words(call.arguments().path("skills"));
    var done = control.skills().install(call.caller(), sessions.named(call), wanted);
    return CodeTool.result(Json.tree(SkillRoutes.InstallationView.of(done)));
  }
}
