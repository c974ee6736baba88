package dev.carrel.server.tools;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.carrel.control.Control;
import dev.carrel.control.context.CodeError;
import dev.carrel.control.context.CodeEvent;
import dev.carrel.control.context.CodeResult;
import dev.carrel.control.context.CodeStream;
import dev.carrel.control.context.ExecuteCode;
import dev.carrel.control.context.MimeBundle;
import dev.carrel.control.sandbox.CreateSandbox;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.control.validate.CheckCode.OnDanger;
import dev.carrel.server.mcp.Call;
import dev.carrel.server.mcp.Content;
import dev.carrel.server.mcp.ToolResult;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.ExecEvent;
import dev.carrel.spi.ExecId;
import dev.carrel.spi.Language;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import dev.carrel.spi.Text;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Code in a session, or in a sandbox of its own. */
final class CodeRuns {
  private static final int TIMED_OUT = 124;
  private static final int MAX_SHOWN = 2000;
  private static final int MAX_RESULT_SHOWN = 32 * 1024;
  private static final int MAX_ALL_SHOWN = 128 * 1024;

  private final Control control;
  private final Sessions sessions;
  private final LeftFiles left;

  CodeRuns(Control control, Sessions sessions) {
    this.control = control;
    this.sessions = sessions;
    this.left = new LeftFiles(control);
  }

  ToolResult execute(Call call) throws InterruptedException {
    JsonNode arguments = call.arguments();
    String named = arguments.path("language").asText("");
    if (arguments.path(Sessions.ARGUMENT).isTextual()) {
      SandboxId id = sessions.named(call);
      NewSession.refuseFor(control.sandboxes().get(call.caller(), id), arguments);
      Language language =
          named.isEmpty() ? sessions.language(call.caller(), id) : Language.parse(named);
      return run(call, id, language, true);
    }
    Language language = named.isEmpty() ? Language.PYTHON : Language.parse(named);
    // It keeps nothing: its files are in memory.
    CreateSandbox request =
        NewSession.request(language, arguments).withStorage(CreateSandbox.Storage.EPHEMERAL);
    Sandbox made = sessions.begin(call.caller(), request);
    try {
      return run(call, made.id(), language, false);
    } finally {
      discard(call, made.id());
    }
  }

  private void discard(Call call, SandboxId id) {
    // A cancelled call has its thread interrupted, which would break the delete.
    boolean interrupted = Thread.interrupted();
    try {
      control.sandboxes().delete(call.caller(), id);
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private ToolResult run(Call call, SandboxId id, Language language, boolean kept)
      throws InterruptedException {
    ExecId asked = ExecId.random();
    ExecuteCode request = admitted(call, id, language).withRequest(asked);
    CodeResult result;
    var live = new LiveOutput(call);
    try (CodeStream stream = control.contexts().start(call.caller(), id, request)) {
      result = live.wanted() ? follow(stream, live) : stream.result();
    }
    if (result.cause() == ExecEvent.Cause.SANDBOX_LOST) {
      throw new SandboxException(ErrorCode.SANDBOX_GONE, "the sandbox ended while the code ran");
    }
    ObjectNode node = view(result, kept ? id : null).put("request_id", asked.value());
    cut(node, call.arguments().path(NewSession.LIMITED).path("max_output_bytes"));
    node.set("artifacts", left.tell(call, id, asked, kept));
    return withFigures(node, result.displayOutputs());
  }

  private ExecuteCode admitted(Call call, SandboxId id, Language language)
      throws InterruptedException {
    JsonNode arguments = call.arguments();
    var request = new ExecuteCode(call.text("code"), language, null, timeout(arguments));
    if (!arguments.has("validate")) {
      return request;
    }
    OnDanger onDanger = OnDanger.parse(call.text("validate"));
    boolean autoFix = arguments.path("auto_fix").asBoolean(false);
    return control.validator().admit(call.caller(), id, request, onDanger, autoFix);
  }

  private static CodeResult follow(CodeStream stream, LiveOutput live) throws InterruptedException {
    while (true) {
      switch (stream.next()) {
        case CodeEvent.Output output when output.bytes().hasRemaining() ->
            live.wrote(output.channel(), output.bytes());
        case CodeEvent.Done(CodeResult result) -> {
          return result;
        }
        case null -> throw new IllegalStateException("a cell ended without its end");
        default -> {}
      }
    }
  }

  static @Nullable Duration timeout(JsonNode arguments) {
    for (String name : List.of("timeout", "timeout_seconds")) {
      JsonNode seconds = arguments.path(name);
      if (seconds.isNumber()) {
        return Duration.ofMillis(Math.max(1, Math.round(seconds.doubleValue() * 1000)));
      }
    }
    JsonNode limits = arguments.path(NewSession.LIMITED);
    return limits.isObject() ? timeout(limits) : null;
  }

  /** Cut where the caller wants no more; both streams count for themselves. */
  private static void cut(ObjectNode node, JsonNode max) {
    for (String stream : List.of("stdout", "stderr")) {
      byte[] bytes = node.path(stream).asText().getBytes(StandardCharsets.UTF_8);
      if (max.isNumber() && bytes.length > max.longValue()) {
        int end = max.intValue();
        while (end > 0 && (bytes[end] & 0xC0) == 0x80) {
          end--;
        }
        node.put(stream, new String(bytes, 0, end, StandardCharsets.UTF_8)).put("truncated", true);
      }
    }
  }

  private static ObjectNode view(CodeResult result, @Nullable SandboxId session) {
    ObjectNode node = Schemas.object().put("success", result.success());
    if (session != null) {
      node.put(Sessions.ARGUMENT, session.value());
    }
    node.put("stdout", result.stdout().text()).put("stderr", result.stderr().text());
    MimeBundle value = result.result();
    if (value == null) {
      node.putNull("result");
    } else {
      ObjectNode bundle = node.putObject("result");
      value.items().stream()
          .filter(MimeBundle.Item::isText)
          .forEach(item -> bundle.put(item.mime(), item.text()));
    }
    CodeError error = result.error();
    if (error == null) {
      node.putNull("error");
    } else {
      node.putObject("error")
          .put("type", error.type())
          .put("message", error.message())
          .put("traceback", error.traceback());
    }
    node.put("exit_code", result.success() ? 0 : result.timedOut() ? TIMED_OUT : 1)
        .put("timed_out", result.timedOut())
        .put(
            "truncated",
            result.truncated() || result.stdout().truncated() || result.stderr().truncated())
        .put("state", result.state().wireName())
        .put("duration_ms", result.duration().toNanos() / 1e6);
    if (result.hint() != null) {
      node.put("hint", result.hint());
    }
    return node;
  }

  /**
   * Pictures and sounds as content of their own; in the text only a word of them. What is long is
   * whole in the structured form alone: as text within JSON it would be escaped twice.
   */
  private static ToolResult withFigures(ObjectNode node, List<MimeBundle.Item> outputs) {
    var structured = node.putArray("display_outputs");
    ObjectNode told = node.deepCopy();
    var room = new Room(MAX_ALL_SHOWN);
    if (told.get("result") instanceof ObjectNode bundle) {
      bundle
          .properties()
          .forEach(
              item ->
                  item.setValue(
                      bundle.textNode(room.cut(item.getValue().textValue(), MAX_RESULT_SHOWN))));
    }
    told.path("artifacts").forEach(one -> ((ObjectNode) one).remove("content"));
    var words = told.putArray("display_outputs");
    var blocks = new ArrayList<ObjectNode>();
    for (MimeBundle.Item item : outputs) {
      String data = item.text();
      structured.addObject().put("type", item.mime()).put("data", data);
      ObjectNode word = words.addObject().put("type", item.mime());
      if (item.mime().startsWith("image/") && !item.isText()) {
        blocks.add(Content.image(item.mime(), data));
        word.put("data", "(image, shown below)");
      } else if (item.mime().startsWith("audio/")) {
        blocks.add(Content.audio(item.mime(), data));
        word.put("data", "(audio, attached below)");
      } else {
        word.put("data", room.cut(data, MAX_SHOWN));
      }
    }
    blocks.addFirst(Content.text(told.toString()));
    return new ToolResult(blocks, node, false);
  }

  /** How much more of what was shown fits the text. */
  private static final class Room {
    private int left;

    Room(int left) {
      this.left = left;
    }

    String cut(String text, int max) {
      int end = Math.min(max, left);
      if (text.length() <= end) {
        left -= text.length();
        return text;
      }
      String head = Text.head(text, end);
      left -= head.length();
      return head + "…";
    }
  }
}
