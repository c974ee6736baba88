package dev.carrel.server.tools;

import com.fasterxml.jackson.databind.JsonNode;
import dev.carrel.control.Control;
import dev.carrel.control.exec.ExecStart;
import dev.carrel.control.exec.ExecStream;
import dev.carrel.server.mcp.Call;
import dev.carrel.server.mcp.ToolResult;
import dev.carrel.spi.Command;
import dev.carrel.spi.ExecEvent;
import dev.carrel.spi.SandboxId;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Map;

/** A line of shell; what it writes to both streams comes back in the order in which it came. */
final class ShellTool {
  private static final Duration USUAL = Duration.ofMinutes(2);
  private static final Duration LONGEST = Duration.ofMinutes(10);
  private static final Duration BACKGROUND = Duration.ofHours(1);
  private static final int MAX_LINES = 2000;
  private static final int MAX_CHARS = 30_000;

  private final Control control;
  private final Sessions sessions;
  private final Duration usual;

  ShellTool(Control control, Sessions sessions) {
    this.control = control;
    this.sessions = sessions;
    this.usual = control.execs().atMost(USUAL, false);
  }

  String description() {
    return """
    Runs a line of bash in your sandbox, in /workspace, and waits for its end: at most %d seconds \
    unless timeout_ms says otherwise. Files stay; variables and the working directory do not. Of \
    long output the beginning and the end come back. With run_in_background it goes on, and its \
    output is in a file."""
        .formatted(usual.toSeconds());
  }

  String input() {
    return """
    "command":{"type":"string","minLength":1,"needed":true},
    "timeout_ms":{"type":"integer","minimum":1,"maximum":%d,"default":%d},
    "run_in_background":{"type":"boolean","default":false},
    "description":{"type":"string","description":"What it does, in a few words"},
    "secrets":{"type":"array","maxItems":64,"items":{"type":"string","minLength":1},
      "description":"Names of secrets that it gets as variables"}"""
        .formatted(control.execs().atMost(LONGEST, false).toMillis(), usual.toMillis());
  }

  ToolResult run(Call call) throws InterruptedException {
    JsonNode arguments = call.arguments();
    SandboxId id = sessions.named(call);
    if (arguments.path("run_in_background").asBoolean(false)) {
      return background(call, id);
    }
    Duration limit = Duration.ofMillis(arguments.path("timeout_ms").asLong(usual.toMillis()));
    String line = call.text("command");
    ExecStart start =
        ExecStart.shell(shell -> Command.of(shell, "-c", line).withTimeout(limit))
            .withSecrets(NewSession.secrets(arguments));
    var live = new LiveOutput(call);
    var text = new Interleaved();
    ExecEvent.Exited end = null;
    try (ExecStream stream = control.execs().start(call.caller(), id, start)) {
      for (ExecEvent event; (event = stream.next()) != null; ) {
        switch (event) {
          case ExecEvent.Output(ExecEvent.Channel channel, ByteBuffer bytes) -> {
            text.add(channel, bytes.duplicate());
            live.wrote(channel, bytes);
          }
          case ExecEvent.Exited exited -> end = exited;
          case ExecEvent.Gap gap -> text.miss(gap.bytes());
          case ExecEvent.Started _ -> {}
        }
      }
    }
    if (end == null) {
      throw new IllegalStateException("a command ended without its end");
    }
    text.end();
    return answer(text, end, limit);
  }

  private static ToolResult answer(Interleaved text, ExecEvent.Exited end, Duration limit) {
    var words = new StringBuilder(text.shown(MAX_LINES, MAX_CHARS));
    if (end.cause() == ExecEvent.Cause.TIMED_OUT) {
      words
          .append("\n<bash_metadata>\ncommand timed out after ")
          .append(limit.toMillis())
          .append("ms\n</bash_metadata>");
    } else if (end.cause() != ExecEvent.Cause.RETURNED || end.code() != 0) {
      words.append("\nExit code ").append(end.code());
      if (end.cause() != ExecEvent.Cause.RETURNED) {
        words.append(" (").append(FileTools.lower(end.cause().name())).append(')');
      }
      if (end.message() != null) {
        words.append(": ").append(end.message());
      }
    }
    boolean good = end.cause() == ExecEvent.Cause.RETURNED && end.code() == 0;
    return good ? ToolResult.text(words.toString()) : ToolResult.error(words.toString().strip());
  }

  private ToolResult background(Call call, SandboxId id) throws InterruptedException {
    BackgroundLine.Setting setting =
        new BackgroundLine.Setting(null, Map.of(), control.execs().atMost(BACKGROUND, true))
            .withSecrets(NewSession.secrets(call.arguments()));
    BackgroundLine begun =
        BackgroundLine.start(control.execs(), call.caller(), id, call.text("command"), setting);
    return ToolResult.text(
        "%s\nOutput file: %s\nUse Read tool to see it; the exec is %s"
            .formatted(begun.told(), begun.file(), begun.exec()));
  }
}
