package dev.carrel.server.tools;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.carrel.control.Control;
import dev.carrel.control.exec.ExecResult;
import dev.carrel.control.exec.ExecStart;
import dev.carrel.control.exec.ExecStream;
import dev.carrel.control.image.Image;
import dev.carrel.control.packages.Installation;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.control.sandbox.SandboxPage;
import dev.carrel.control.validate.CheckCode;
import dev.carrel.control.validate.Verdict;
import dev.carrel.server.mcp.Call;
import dev.carrel.server.mcp.Tool;
import dev.carrel.server.mcp.ToolResult;
import dev.carrel.spi.Capabilities;
import dev.carrel.spi.Command;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.ExecEvent;
import dev.carrel.spi.Language;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** The set {@code code}: sessions, and what runs in them. */
final class CodeTools {
  private final Control control;
  private final Sessions sessions;
  private final CodeRuns runs;
  private final CodeFailures failures;
  private final List<Tool> tools = new ArrayList<>();

  private CodeTools(Control control, Sessions sessions) {
    this.control = control;
    this.sessions = sessions;
    this.runs = new CodeRuns(control, sessions);
    this.failures = new CodeFailures(control, sessions);
  }

  static List<Tool> of(Control control, Sessions sessions) {
    var all = new CodeTools(control, sessions);
    all.addRuns();
    all.addLife();
    all.addLooks();
    return List.copyOf(all.tools);
  }

  private void add(
      String name,
      String title,
      String description,
      Tool.Effect effect,
      String input,
      String output,
      CodeTool.Body body) {
    var info =
        new Tool.About(name, title, description, Schemas.of(input), Schemas.of(output), effect);
    tools.add(new CodeTool(info, failures, body));
  }

  private void addRuns() {
    add(
        "execute_code",
        "Run code",
        """
        Runs code in a session, whose variables, imports and files stay for the next call. Without a \
        session_id it runs once in a fresh sandbox that is removed afterwards; allowed_domains, \
        presets, namespace, secrets, image and the limits of memory, CPU and processes are for that \
        one. The value of the last expression comes back as result, figures as images, files that it \
        leaves in /workspace/outputs as artifacts. There is no network unless it was allowed.""",
        Tool.Effect.CHANGE,
        """
        {"type":"object","required":["code"],"properties":{
          "code":{"type":"string","minLength":1,"description":"What to run"},
          "session_id":{"type":"string","minLength":1,"description":"From create_session; left out: a run of its own"},
          "language":{"type":"string","enum":["python","node","r","bash","shell"],
            "description":"Default: that of the session, or python"},
          "timeout":{"type":["number","null"],"minimum":0.001,"maximum":%1$s,"description":"Seconds; default %2$s"},
          "timeout_seconds":{"type":["number","null"],"minimum":0.001,"maximum":%1$s,"description":"The same"},
          "validate":{"type":"string","enum":["reject","warn","off"],"description":
            "Looks at the code first and runs none that cannot be read; reject: nor any with dangerous calls"},
          "auto_fix":{"type":"boolean","default":false,"description":"With validate: adds missing imports (Python)"},
        """
                .formatted(
                    Schemas.seconds(control.contexts().settings().maxTimeout()),
                    Schemas.seconds(control.contexts().settings().defaultTimeout()))
            + NewSession.INPUT_OF_RUN
            + "}}",
        """
        {"type":"object","required":["success"],"properties":{
          "success":{"type":"boolean"},"session_id":{"type":"string"},
          "stdout":{"type":"string"},"stderr":{"type":"string"},
          "result":{"type":["object","null"]},"error":{"type":["object","string","null"]},
          "display_outputs":{"type":"array"},"exit_code":{"type":"integer"},
          "timed_out":{"type":"boolean"},"truncated":{"type":"boolean"},
          "state":{"type":"string"},"duration_ms":{"type":"number"},"hint":{"type":"string"},
          "request_id":{"type":"string"},"artifacts":{"type":"array","items":{"type":"object"}}}}""",
        runs::execute);
    add(
        "execute_terminal",
        "Run a command",
        "Runs a shell command in a session and waits for its end. It starts in /workspace.",
        Tool.Effect.CHANGE,
        """
        {"type":"object","required":["session_id","command"],"properties":{
          "session_id":{"type":"string","minLength":1},
          "command":{"type":"string","minLength":1},
          "timeout":{"type":["number","null"],"minimum":0.001,"maximum":%s,"description":"Seconds"},
          "secrets":{"type":"array","maxItems":64,"items":{"type":"string","minLength":1},
            "description":"Names of secrets that this command gets beside those of the session"}}}"""
            .formatted(Schemas.seconds(control.execs().maxTimeout())),
        """
        {"type":"object","properties":{"exit_code":{"type":"integer"},
          "stdout":{"type":"string"},"stderr":{"type":"string"},"timed_out":{"type":"boolean"},
          "truncated":{"type":"boolean"},"hint":{"type":"string"},
          "success":{"type":"boolean"},"error":{"type":"string"}}}""",
        this::terminal);
  }

  private ToolResult terminal(Call call) throws InterruptedException {
    String line = call.text("command");
    Duration limit = CodeRuns.timeout(call.arguments());
    ExecStart start =
        ExecStart.shell(shell -> Command.of(shell, "-c", line).withTimeout(limit))
            .withSecrets(NewSession.secrets(call.arguments()));
    ExecResult result = run(call, sessions.named(call), start);
    if (result.cause() == ExecEvent.Cause.SANDBOX_LOST) {
      throw new SandboxException(ErrorCode.SANDBOX_GONE, "the sandbox ended while this ran");
    }
    ObjectNode node =
        Schemas.object()
            .put("exit_code", result.exitCode())
            .put("stdout", result.stdout().text())
            .put("stderr", result.stderr().text())
            .put("timed_out", result.timedOut())
            .put("truncated", result.stdout().truncated() || result.stderr().truncated());
    if (result.hint() != null) {
      node.put("hint", result.hint());
    }
    return CodeTool.result(node);
  }

  private ExecResult run(Call call, SandboxId id, ExecStart start) throws InterruptedException {
    var live = new LiveOutput(call);
    try (ExecStream stream = control.execs().start(call.caller(), id, start)) {
      if (live.wanted()) {
        for (ExecEvent event; (event = stream.next()) != null; ) {
          if (event instanceof ExecEvent.Output output) {
            live.wrote(output.channel(), output.bytes());
          }
        }
      }
      return stream.result();
    }
  }

  private void addLife() {
    add(
        "create_session",
        "Begin a session",
        """
        Makes a sandbox with an interpreter that keeps its state between calls of execute_code. \
        Files are in /workspace. Stop it with stop_session when you no longer need it.""",
        Tool.Effect.ADD,
        """
        {"type":"object","properties":{
          "language":{"type":"string","enum":["python","node","r","bash","shell"],"default":"python"},
          "dependencies":{"type":"object","description":
            "Packages to install, by name: a version, bounds such as \\">=1,<2\\" for pip, or \\"\\" for any. The package index need not be allowed",
            "additionalProperties":{"type":["string","number","null"]}},
        """
            + NewSession.INPUT
            + "}}",
        """
        {"type":"object","required":["success"],"properties":{
          "success":{"type":"boolean"},"session_id":{"type":"string"},"runtime":{"type":"string"},
          "status":{"type":"string"},"dependencies":{"type":"object"},"stderr":{"type":"string"},
          "isolation":{"type":"string"},"error":{"type":"string"}}}""",
        this::create);
    String stop =
        "{\"type\":\"object\",\"required\":[\"session_id\"],\"properties\":{\"session_id\":"
            + "{\"type\":\"string\",\"minLength\":1}}}";
    String stopped =
        "{\"type\":\"object\",\"required\":[\"success\"],\"properties\":{\"success\":"
            + "{\"type\":\"boolean\"},\"session_id\":{\"type\":\"string\"}}}";
    String words = "Ends a session and removes its sandbox with all files.";
    add("stop_session", "End a session", words, Tool.Effect.CHANGE, stop, stopped, this::stop);
    add("terminate_session", "End a session", words, Tool.Effect.CHANGE, stop, stopped, this::stop);
  }

  private ToolResult create(Call call) throws InterruptedException {
    JsonNode arguments = call.arguments();
    Language language = Language.parse(arguments.path("language").asText("python"));
    var packages = new Dependencies(language, arguments.path("dependencies"));
    if (packages.any()) {
      control.packages().check(packages.request());
    }
    Sandbox made = sessions.begin(call.caller(), NewSession.request(language, arguments));
    boolean ready = false;
    try {
      ObjectNode node =
          Schemas.object()
              .put("success", true)
              .put(Sessions.ARGUMENT, made.id().value())
              .put("runtime", language.wireName())
              .put("status", "running");
      node.set("dependencies", packages.wanted());
      if (made.isolation() != null) {
        node.put("isolation", made.isolation().strength().name().toLowerCase(Locale.ROOT));
      }
      if (packages.any()) {
        Installation done = packages.install(control, call.caller(), made);
        node.put("stderr", done.exec().stderr().text());
      }
      // After the packages, which an interpreter would not see that began before them.
      control.contexts().open(call.caller(), made.id(), language);
      ready = true;
      return CodeTool.result(node);
    } finally {
      if (!ready) {
        Thread.interrupted();
        control.sandboxes().delete(call.caller(), made.id());
      }
    }
  }

  private ToolResult stop(Call call) {
    ObjectNode node = Schemas.object();
    try {
      SandboxId id = new SandboxId(call.text(Sessions.ARGUMENT));
      // One that is gone can be deleted again, but there was no session to end.
      control.sandboxes().get(call.caller(), id);
      control.sandboxes().delete(call.caller(), id);
      return CodeTool.result(node.put("success", true).put(Sessions.ARGUMENT, id.value()));
    } catch (SandboxException e) {
      if (e.code() != ErrorCode.SANDBOX_NOT_FOUND) {
        throw e;
      }
      return CodeTool.result(
          node.put("success", false).put(Sessions.ARGUMENT, call.text(Sessions.ARGUMENT)));
    }
  }

  private void addLooks() {
    String none = "{\"type\":\"object\",\"properties\":{}}";
    String any = "{\"type\":\"object\"}";
    add(
        "list_sessions",
        "List sessions",
        "Lists your sandboxes, the newest 200, with what they run and how they stand.",
        Tool.Effect.READ,
        none,
        any,
        this::list);
    add(
        "list_runtimes",
        "List runtimes",
        """
        Tells which languages a session can have, by default and on each image, and which kinds of \
        isolation there are.""",
        Tool.Effect.READ,
        none,
        any,
        call -> runtimes());
    add(
        "inspect_state",
        "Inspect a session",
        "Shows a session's interpreters, its recent commands, its limits and what it uses now.",
        Tool.Effect.READ,
        """
        {"type":"object","required":["session_id"],"properties":{
          "session_id":{"type":"string","minLength":1}}}""",
        any,
        call ->
            new SessionReport(control, call.caller())
                .of(new SandboxId(call.text(Sessions.ARGUMENT))));
    add(
        "validate_code",
        "Look at code",
        """
        Looks at code without running it: what cannot be read, dangerous calls, missing imports \
        (Python).""",
        Tool.Effect.READ,
        """
        {"type":"object","required":["code"],"properties":{
          "code":{"type":"string","minLength":1},
          "language":{"type":"string","enum":["python","node","r","bash","shell"],"default":"python"},
          "reject_dangerous":{"type":"boolean","default":true},
          "auto_fix":{"type":"boolean","default":true},
          "session_id":{"type":"string","minLength":1}}}""",
        any,
        this::validate);
  }

  private ToolResult list(Call call) {
    ObjectNode node = Schemas.object();
    var array = node.putArray("sessions");
    SandboxPage newest = sessions.list(call.caller());
    for (Sandbox sandbox : newest.items()) {
      array
          .addObject()
          .put(Sessions.ARGUMENT, sandbox.id().value())
          .put("runtime", Sessions.language(sandbox).wireName())
          .put("status", sandbox.status().wireName())
          .put("namespace", sandbox.namespace())
          .put("created_at", sandbox.createdAt().toString())
          .put("last_activity", sandbox.lastActivityAt().toString());
    }
    return CodeTool.result(node.put("truncated", newest.total() > newest.items().size()));
  }

  private ToolResult runtimes() {
    ObjectNode node = Schemas.object();
    String usual = control.settings().sandboxes().defaultImage();
    tell(control.images().get(usual), node.putArray("languages"));
    var images = node.putArray("images");
    ObjectNode languages = node.putObject("image_languages");
    for (Image image : control.images().list()) {
      if (image.usable()) {
        images.add(image.name());
        tell(image, languages.putArray(image.name()));
      }
    }
    var engines = node.putArray("engines");
    for (Capabilities engine : control.engines().capabilities()) {
      engines
          .addObject()
          .put("name", engine.engine())
          .put("usable", engine.usable())
          .put("isolation", engine.isolation().strength().name().toLowerCase(Locale.ROOT));
    }
    return CodeTool.result(node);
  }

  private static void tell(Image image, ArrayNode languages) {
    image.languages().stream().sorted().map(Language::wireName).forEach(languages::add);
  }

  private ToolResult validate(Call call) throws InterruptedException {
    JsonNode arguments = call.arguments();
    JsonNode session = arguments.path(Sessions.ARGUMENT);
    Verdict verdict =
        control
            .validator()
            .check(
                call.caller(),
                new CheckCode(
                    call.text("code"),
                    Language.parse(arguments.path("language").asText("python")),
                    session.isTextual() ? new SandboxId(session.textValue()) : null,
                    arguments.path("reject_dangerous").asBoolean(true)
                        ? CheckCode.OnDanger.REJECT
                        : CheckCode.OnDanger.WARN,
                    arguments.path("auto_fix").asBoolean(true)));
    ObjectNode node = Schemas.object().put("valid", verdict.valid());
    var findings = node.putArray("findings");
    for (Verdict.Finding finding : verdict.findings()) {
      findings
          .addObject()
          .put("rule", finding.rule())
          .put("severity", finding.severity().wireName())
          .put("line", finding.line())
          .put("column", finding.column())
          .put("message", finding.message());
    }
    if (verdict.fixed() != null) {
      node.put("fixed_code", verdict.fixed());
    }
    return CodeTool.result(node);
  }
}
