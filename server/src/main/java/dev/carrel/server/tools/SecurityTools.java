package dev.carrel.server.tools;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.carrel.control.Control;
import dev.carrel.control.approval.Approval;
import dev.carrel.control.approval.AskApproval;
import dev.carrel.control.artifact.Artifact;
import dev.carrel.control.artifact.Signed;
import dev.carrel.control.audit.AuditQuery;
import dev.carrel.control.audit.AuditRecord;
import dev.carrel.control.egress.CountedDecision;
import dev.carrel.control.sandbox.SandboxUsage;
import dev.carrel.control.vault.Secret;
import dev.carrel.server.mcp.Call;
import dev.carrel.server.mcp.Tool;
import dev.carrel.server.mcp.ToolResult;
import dev.carrel.spi.ExecId;
import dev.carrel.spi.SandboxId;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** The set {@code security}: what sandboxes may do, who allowed it, and what was done. */
final class SecurityTools {
  private static final int MAX_LISTED = 100;
  private static final String ANY = "{\"type\":\"object\"}";
  private static final String OF_SESSION =
      "{\"type\":\"object\",\"required\":[\"session_id\"],\"properties\":{\"session_id\":"
          + "{\"type\":\"string\",\"minLength\":1}}}";

  private final Control control;
  private final Sessions sessions;
  private final Approving approving;
  private final CodeFailures failures;
  private final List<Tool> tools = new ArrayList<>();

  private SecurityTools(Control control, Sessions sessions, CodeFailures failures) {
    this.control = control;
    this.sessions = sessions;
    this.approving = new Approving(control.approvals());
    this.failures = failures;
  }

  static List<Tool> of(Control control, Sessions sessions) {
    var all = new SecurityTools(control, sessions, new CodeFailures(control, sessions));
    all.addNetwork();
    all.addRecords();
    return List.copyOf(all.tools);
  }

  private void add(
      String name,
      String title,
      String description,
      Tool.Effect effect,
      String input,
      CodeTool.Body body) {
    var info = new Tool.About(name, title, description, Schemas.of(input), Schemas.of(ANY), effect);
    tools.add(new CodeTool(info, failures, body));
  }

  private void addNetwork() {
    add(
        "request_egress",
        "Ask for a host",
        """
        Asks a person to let a session, or a namespace, reach a host. Answers with how the request \
        stands; ask again with the same words to see whether it was decided.""",
        Tool.Effect.SET,
        """
        {"type":"object","required":["domain"],"properties":{
          "domain":{"type":"string","minLength":1,"description":"The host, for example api.example.com"},
          "session_id":{"type":"string","minLength":1,"description":"Left out: for the namespace"},
          "namespace":{"type":"string","minLength":1},
          "reason":{"type":"string","maxLength":500,"description":"What for, in a sentence"},
          "wait_seconds":{"type":"integer","minimum":0,"maximum":60,"default":0}}}""",
        this::requestEgress);
    add(
        "list_approvals",
        "List requests",
        "Lists what was asked of a person, newest first, and how it stands.",
        Tool.Effect.READ,
        "{\"type\":\"object\",\"properties\":{}}",
        this::approvals);
    add(
        "egress_decisions",
        "List connections",
        "Tells which hosts a session tried to reach, and what became of it.",
        Tool.Effect.READ,
        OF_SESSION,
        this::decisions);
  }

  private ToolResult requestEgress(Call call) throws InterruptedException {
    JsonNode arguments = call.arguments();
    String session = arguments.path(Sessions.ARGUMENT).textValue();
    var question =
        new AskApproval(
            Approval.Kind.EGRESS,
            call.text("domain"),
            session == null ? null : new SandboxId(session),
            arguments.path("namespace").textValue(),
            session == null ? Approval.Scope.NAMESPACE : Approval.Scope.SANDBOX,
            arguments.path("reason").asText(""),
            null);
    return CodeTool.result(
        Approving.view(approving.ask(call, question, arguments.path("wait_seconds").asLong(0))));
  }

  private ToolResult approvals(Call call) {
    ObjectNode node = Schemas.object();
    var array = node.putArray("approvals");
    List<Approval> newest = control.approvals().list(call.caller(), null, MAX_LISTED + 1);
    newest.stream().limit(MAX_LISTED).forEach(one -> array.add(Approving.view(one)));
    return CodeTool.result(node.put("truncated", newest.size() > MAX_LISTED));
  }

  private ToolResult decisions(Call call) {
    ObjectNode node = Schemas.object();
    var array = node.putArray("decisions");
    for (CountedDecision one : control.egress().decisions(call.caller(), session(call))) {
      array
          .addObject()
          .put("host", one.last().host())
          .put("port", one.last().port())
          .put("outcome", one.last().outcome().name().toLowerCase(Locale.ROOT))
          .put("detail", one.last().detail())
          .put("count", one.count())
          .put("last_at", one.last().at().toString());
    }
    return CodeTool.result(node);
  }

  private void addRecords() {
    add(
        "audit_execution",
        "Read the record",
        "Shows what was done, newest first: who, what, how it ended.",
        Tool.Effect.READ,
        """
        {"type":"object","properties":{
          "namespace":{"type":"string","minLength":1},
          "session_id":{"type":"string","minLength":1},
          "action":{"type":"string","minLength":1,"description":"For example exec, or file.write"},
          "limit":{"type":"integer","minimum":1,"maximum":100,"default":20}}}""",
        this::audit);
    add(
        "list_secrets",
        "List secrets",
        "Names the secrets of a namespace; values are never shown.",
        Tool.Effect.READ,
        "{\"type\":\"object\",\"properties\":{\"namespace\":{\"type\":\"string\",\"minLength\":1}}}",
        this::secrets);
    add(
        "get_artifacts",
        "List artifacts",
        """
        Lists the signed files of a session with their digests: what code and commands left in \
        /workspace/outputs. With paths: signs these files, or the files of these folders, as they \
        are now.""",
        Tool.Effect.SET,
        """
        {"type":"object","required":["session_id"],"properties":{
          "session_id":{"type":"string","minLength":1},
          "request_id":{"type":"string","minLength":1,"description":"Of execute_code: only what that run left"},
          "paths":{"type":"array","minItems":1,"maxItems":100,"items":{"type":"string","minLength":1},
            "description":"In /workspace"}}}""",
        this::artifacts);
    add(
        "sandbox_stats",
        "Show what is used",
        "Tells what your running sandboxes use now, a hundred at most, or what one of them does.",
        Tool.Effect.READ,
        "{\"type\":\"object\",\"properties\":{\"session_id\":{\"type\":\"string\",\"minLength\":1}}}",
        this::stats);
  }

  private ToolResult audit(Call call) {
    JsonNode arguments = call.arguments();
    var query =
        new AuditQuery(
            arguments.path("namespace").textValue(),
            arguments.has(Sessions.ARGUMENT) ? session(call) : null,
            arguments.path("action").textValue(),
            null,
            null,
            null,
            arguments.path("limit").asInt(20));
    ObjectNode node = Schemas.object();
    var array = node.putArray("records");
    for (AuditRecord one : control.audit().page(call.caller(), query)) {
      SandboxId sandbox = one.entry().who().sandbox();
      array
          .addObject()
          .put("sequence", one.sequence())
          .put("at", one.at().toString())
          .put("principal", one.entry().who().principal())
          .put("namespace", one.entry().who().namespace())
          .put(Sessions.ARGUMENT, sandbox == null ? null : sandbox.value())
          .put("action", one.entry().action())
          .put("subject", one.entry().subject())
          .put("outcome", one.entry().outcome().cause())
          .put("hash", one.hash());
    }
    return CodeTool.result(node);
  }

  private ToolResult secrets(Call call) {
    @Nullable String namespace = call.arguments().path("namespace").textValue();
    ObjectNode node = Schemas.object();
    var array = node.putArray("secrets");
    for (Secret one : control.vault().list(call.caller(), namespace)) {
      array.addObject().put("name", one.name()).put("namespace", one.namespace());
    }
    return CodeTool.result(node);
  }

  private ToolResult artifacts(Call call) throws InterruptedException {
    ObjectNode node = Schemas.object();
    var array = node.putArray("artifacts");
    SandboxId session = session(call);
    JsonNode paths = call.arguments().path("paths");
    if (paths.isArray()) {
      Signed signed =
          control.artifacts().sign(call.caller(), sessions.named(call), Sessions.words(paths));
      signed.artifacts().forEach(one -> array.add(LeftFiles.view(one)));
      signed
          .skipped()
          .forEach(one -> array.addObject().put("name", one.path()).put("reason", one.reason()));
      return CodeTool.result(node.put("truncated", signed.truncated()));
    }
    String request = call.arguments().path("request_id").textValue();
    ExecId left = request == null ? null : new ExecId(request);
    List<Artifact> newest = control.artifacts().list(call.caller(), session, left, MAX_LISTED + 1);
    for (Artifact one : newest.subList(0, Math.min(newest.size(), MAX_LISTED))) {
      array.add(LeftFiles.view(one));
    }
    return CodeTool.result(node.put("truncated", newest.size() > MAX_LISTED));
  }

  private ToolResult stats(Call call) {
    ObjectNode node = Schemas.object();
    var array = node.putArray("sandboxes");
    List<SandboxUsage> used =
        call.arguments().has(Sessions.ARGUMENT)
            ? List.of(control.sandboxes().usage(call.caller(), session(call)))
            : control.sandboxes().usage(call.caller().inOwnTenant(), MAX_LISTED);
    for (SandboxUsage one : used) {
      array
          .addObject()
          .put(Sessions.ARGUMENT, one.sandbox().id().value())
          .put("status", one.sandbox().status().wireName())
          .put("memory_bytes", one.usage().memoryBytes())
          .put("cpu_ms", one.usage().cpuNanos() / 1_000_000)
          .put("processes", one.usage().pids());
    }
    return CodeTool.result(node);
  }

  private static SandboxId session(Call call) {
    return new SandboxId(call.text(Sessions.ARGUMENT));
  }
}
