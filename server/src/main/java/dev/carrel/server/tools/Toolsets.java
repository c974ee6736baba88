package dev.carrel.server.tools;

import dev.carrel.control.Control;
import dev.carrel.server.mcp.Catalog;
import dev.carrel.server.mcp.Tool;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Everything that clients of MCP are offered, over one control plane. */
public final class Toolsets {
  private static final String INSTRUCTIONS =
      """
      Carrel gives you a private computer. execute_code runs Python, Node, R or bash; with a session \
      from create_session, variables and files stay from call to call. Bash, Read, Write, Edit, Glob \
      and Grep work on the files of your usual sandbox, or of the session that you name. Files are in \
      /workspace. There is no network until somebody allowed it: a refused connection says how to ask.\
      """;

  private Toolsets() {}

  public static Catalog catalog(Control control) {
    var sessions = new Sessions(control);
    Map<String, List<Tool>> sets = new LinkedHashMap<>();
    var code = new ArrayList<>(CodeTools.of(control, sessions));
    code.addAll(TransferTools.of(control, sessions));
    code.addAll(PackageTools.of(control, sessions));
    sets.put("code", code);
    sets.put("files", FileTools.of(control, sessions));
    var security = new ArrayList<>(SecurityTools.of(control, sessions));
    security.addAll(LimitTools.of(control, sessions));
    sets.put("security", security);
    sets.put("web", WebTools.of(control));
    sets.put("skills", SkillTools.of(control, sessions));
    if (control.host().enabled()) {
      sets.put("host", HostTools.of(control, sessions));
    }
    // What would be dropped without a word is refused: who asks for it would believe to have it.
    sets.values().forEach(tools -> tools.forEach(Toolsets::takeNothingElse));
    var skills = new SkillResources(control.skills());
    return new Catalog(
        sets,
        Set.of("code", "files"),
        Guides.all(),
        List.of(new SandboxResources(control, sessions), skills),
        List.of(skills),
        // Which tools and prompts there are is settled when the server starts.
        Set.of(Catalog.Kind.RESOURCES),
        INSTRUCTIONS);
  }

  private static void takeNothingElse(Tool tool) {
    tool.info().inputSchema().put("additionalProperties", false);
  }
}
