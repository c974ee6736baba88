package dev.carrel.server.tools;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.carrel.control.Control;
import dev.carrel.control.approval.Approval;
import dev.carrel.control.approval.AskApproval;
import dev.carrel.control.host.Host;
import dev.carrel.control.host.HostAccess;
import dev.carrel.control.host.HostCommand;
import dev.carrel.control.host.HostContent;
import dev.carrel.control.host.HostFile;
import dev.carrel.control.host.HostResult;
import dev.carrel.control.host.OnBehalf;
import dev.carrel.server.mcp.Call;
import dev.carrel.server.mcp.Content;
import dev.carrel.server.mcp.Tool;
import dev.carrel.server.mcp.ToolResult;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** The set {@code host}: the machine outside of the sandboxes, as far as it is lent out. */
final class HostTools {
  private static final String FOR =
      """
      "session_id":{"type":"string","minLength":1,"description":"The session it is for"},
      "namespace":{"type":"string","minLength":1}""";
  private static final String COMMAND =
      """
      "command":{"type":"string","minLength":1,"description":"A program and its arguments as one line; \
      quotes are understood, nothing else of a shell is"},
      "argv":{"type":"array","items":{"type":"string"},"minItems":1,"maxItems":256,"description":\
      "The same as a list, instead of command"}""";
  private static final int MAX_READ = 1 << 20;

  private final Host host;
  private final Approving approving;
  private final CodeFailures failures;
  private final List<Tool> tools = new ArrayList<>();

  private HostTools(Control control, Sessions sessions) {
    this.host = control.host();
    this.approving = new Approving(control.approvals());
    this.failures = new CodeFailures(control, sessions);
  }

  static List<Tool> of(Control control, Sessions sessions) {
    var all = new HostTools(control, sessions);
    all.addCommands();
    all.addFiles();
    return List.copyOf(all.tools);
  }

  private void add(
      String name,
      String title,
      String description,
      Tool.Effect effect,
      String required,
      String properties,
      CodeTool.Body body) {
    ObjectNode input =
        Schemas.of(
            "{\"type\":\"object\",\"required\":[%s],\"properties\":{%s,%s}}"
                .formatted(required, properties, FOR));
    var info =
        new Tool.About(
            name, title, description, input, Schemas.of("{\"type\":\"object\"}"), effect);
    tools.add(new CodeTool(info, failures, body));
  }

  private void addCommands() {
    add(
        "host_exec",
        "Run on the host",
        """
        Runs a command on the machine itself, outside of every sandbox, without a shell. Only what is \
        allowed always or was approved by a person: see list_host_access, ask with request_host_access.""",
        Tool.Effect.CHANGE,
        "",
        COMMAND
            + """
            ,
            "cwd":{"type":"string","minLength":1,"description":"A folder that is lent out"},
            "timeout_seconds":{"type":"integer","minimum":1,"maximum":%d}"""
                .formatted(Math.max(1, host.maxTimeout().toSeconds())),
        this::exec);
    add(
        "request_host_access",
        "Ask for the host",
        """
        Asks a person to allow a command on the host: exactly this one, or with * for one word and ** \
        for the rest. For a file, command is @read, @write or @list and its path. Answers with how the \
        request stands.""",
        Tool.Effect.SET,
        "\"command\"",
        """
        "command":{"type":"string","minLength":1,"maxLength":1000},
        "reason":{"type":"string","maxLength":500,"description":"What for, in a sentence"},
        "scope":{"type":"string","enum":["once","sandbox","namespace"],"default":"once"},
        "wait_seconds":{"type":"integer","minimum":0,"maximum":60,"default":0}""",
        this::ask);
    add(
        "list_host_access",
        "Show what is allowed",
        "Tells which commands and folders of the host are allowed, blocked, approved or asked for.",
        Tool.Effect.READ,
        "",
        "\"pending\":{\"type\":\"boolean\",\"default\":true,\"description\":\"Those that wait, too\"}",
        this::access);
  }

  private void addFiles() {
    String path = "\"path\":{\"type\":\"string\",\"minLength\":1,\"description\":\"From / on\"}";
    add(
        "host_file_read",
        "Read a file of the host",
        "Reads a text file of a folder that is lent out.",
        Tool.Effect.READ,
        "\"path\"",
        path
            + """
            ,
            "offset":{"type":"integer","minimum":0,"default":0,"description":"First byte"},
            "limit":{"type":"integer","minimum":1,"maximum":1048576,"default":1048576}""",
        this::read);
    add(
        "host_file_write",
        "Write a file of the host",
        "Writes a whole text file into a folder that is lent out for it; the folder must be there.",
        Tool.Effect.CHANGE,
        "\"path\",\"content\"",
        path + ",\"content\":{\"type\":\"string\"}",
        this::write);
    add(
        "host_file_list",
        "List a folder of the host",
        "Lists a folder that is lent out.",
        Tool.Effect.READ,
        "\"path\"",
        path,
        this::list);
    add(
        "host_file_copy",
        "Copy a file of the host",
        "Copies a file between folders that are lent out.",
        Tool.Effect.CHANGE,
        "\"source\",\"destination\"",
        """
        "source":{"type":"string","minLength":1},"destination":{"type":"string","minLength":1}""",
        this::copy);
  }

  private ToolResult exec(Call call) throws InterruptedException {
    JsonNode arguments = call.arguments();
    JsonNode seconds = arguments.path("timeout_seconds");
    HostResult result =
        host.exec(
            call.caller(),
            new HostCommand(
                words(arguments),
                arguments.path("cwd").textValue(),
                seconds.isNumber() ? Duration.ofSeconds(seconds.asLong()) : null,
                of(call)));
    ObjectNode node =
        Schemas.object()
            .put("exit_code", result.code())
            .put("stdout", result.stdout())
            .put("stderr", result.stderr())
            .put("timed_out", result.timedOut())
            .put("truncated", result.cut())
            .put("duration_ms", result.duration().toMillis());
    return new ToolResult(List.of(Content.text(node.toString())), node, result.code() != 0);
  }

  private static List<String> words(JsonNode arguments) {
    boolean line = arguments.has("command");
    if (line == arguments.has("argv")) {
      throw SandboxException.invalid("command", "is required, or argv instead");
    }
    return line
        ? HostCommand.words(arguments.get("command").asText())
        : Sessions.words(arguments.get("argv"));
  }

  private ToolResult ask(Call call) throws InterruptedException {
    JsonNode arguments = call.arguments();
    OnBehalf of = of(call);
    var question =
        new AskApproval(
            Approval.Kind.HOST_COMMAND,
            call.text("command"),
            of.sandbox(),
            of.namespace(),
            Approval.Scope.parse(arguments.path("scope").asText("once")),
            arguments.path("reason").asText(""),
            null);
    return CodeTool.result(
        Approving.view(approving.ask(call, question, arguments.path("wait_seconds").asLong(0))));
  }

  private ToolResult access(Call call) {
    boolean pending = call.arguments().path("pending").asBoolean(true);
    HostAccess access = host.access(call.caller());
    ObjectNode node = Schemas.object();
    access.allowed().forEach(node.putArray("always_allowed")::add);
    access.blocked().forEach(node.putArray("blocked")::add);
    access.folders().forEach(node.putArray("folders")::add);
    access.writable().forEach(node.putArray("writable_folders")::add);
    var approved = node.putArray("approved");
    var waiting = node.putArray("pending");
    for (Approval one : access.approvals()) {
      if (one.status() == Approval.Status.APPROVED) {
        approved.add(Approving.view(one));
      } else if (pending) {
        waiting.add(Approving.view(one));
      }
    }
    return CodeTool.result(node);
  }

  private ToolResult read(Call call) {
    JsonNode arguments = call.arguments();
    HostContent content =
        host.read(
            call.caller(),
            of(call),
            call.text("path"),
            arguments.path("offset").asLong(0),
            arguments.path("limit").asInt(MAX_READ));
    return CodeTool.result(
        Schemas.object()
            .put("path", content.path())
            .put("content", new String(content.bytes(), StandardCharsets.UTF_8))
            .put("size", content.size())
            .put("truncated", content.cut()));
  }

  private ToolResult write(Call call) {
    byte[] content = call.text("content").getBytes(StandardCharsets.UTF_8);
    long size = host.write(call.caller(), of(call), call.text("path"), content);
    return CodeTool.result(Schemas.object().put("path", call.text("path")).put("size", size));
  }

  private ToolResult list(Call call) {
    ObjectNode node = Schemas.object();
    var files = node.putArray("files");
    for (HostFile file : host.list(call.caller(), of(call), call.text("path"))) {
      files
          .addObject()
          .put("name", file.name())
          .put("path", file.path())
          .put("kind", file.kind().name().toLowerCase(Locale.ROOT))
          .put("size", file.size())
          .put("modified_at", file.modifiedAt().toString());
    }
    return CodeTool.result(node);
  }

  private ToolResult copy(Call call) {
    String to = call.text("destination");
    long size = host.copy(call.caller(), of(call), call.text("source"), to);
    return CodeTool.result(Schemas.object().put("path", to).put("size", size));
  }

  private static OnBehalf of(Call call) {
    @Nullable String session = call.arguments().path(Sessions.ARGUMENT).textValue();
    return new OnBehalf(
        session == null ? null : new SandboxId(session),
        call.arguments().path("namespace").textValue());
  }
}
