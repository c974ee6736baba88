package dev.carrel.server.flat;

import com.fasterxml.jackson.annotation.JsonInclude;
import dev.carrel.control.Control;
import dev.carrel.control.exec.ExecStart;
import dev.carrel.control.exec.ExecStream;
import dev.carrel.control.files.FileEntry;
import dev.carrel.server.http.Fields;
import dev.carrel.server.http.Utf8Text;
import dev.carrel.spi.Command;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.ExecEvent;
import dev.carrel.spi.ExecEvent.Channel;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import io.helidon.http.HeaderName;
import io.helidon.http.HeaderNames;
import java.io.IOException;
import java.time.Duration;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Lines of bash. */
final class ShellRoutes {
  private static final HeaderName WORKSPACE = HeaderNames.create("X-Workspace");
  private static final int USUAL_MILLIS = 30_000;
  private static final int MAX_MILLIS = 3_600_000;
  private static final int MAX_CHARS = 1 << 20;

  private final Control control;

  ShellRoutes(Control control) {
    this.control = control;
  }

  Envelope exec(FlatApi.Desk at) throws IOException, InterruptedException {
    Fields fields = at.exchange().fields();
    String line = fields.requiredString("command");
    if (fields.bool("run_in_background", false)) {
      throw fields
          .wrong("run_in_background", "is not offered here")
          .withHint("the Bash tool of MCP, and /api/v1/sandboxes/{id}/exec, have it");
    }
    int millis = fields.wholeNumber("timeout_ms", USUAL_MILLIS, 1, MAX_MILLIS);
    Map<String, String> variables = fields.stringMap("env");
    String asked = fields.string("cwd");
    String folder = asked == null ? at.exchange().header(WORKSPACE).orElse("/workspace") : asked;
    SandboxId id = at.id();
    requireFolder(at, id, folder);
    Command command =
        Command.of("bash", "-c", line).withCwd(folder).withTimeout(Duration.ofMillis(millis));
    if (variables != null) {
      command = command.withEnvironment(variables);
    }
    at.exchange().cancelWhenClientLeaves();
    Envelope answer = run(at, id, command, millis);
    at.exchange().settle();
    return answer;
  }

  private void requireFolder(FlatApi.Desk at, SandboxId id, String folder) {
    try {
      if (control.files().stat(at.caller(), id, folder).type() == FileEntry.Type.DIR) {
        return;
      }
    } catch (SandboxException e) {
      if (e.code() != ErrorCode.FILE_NOT_FOUND) {
        throw e;
      }
    }
    throw SandboxException.invalid("cwd", "working directory does not exist: " + folder);
  }

  private Envelope run(FlatApi.Desk at, SandboxId id, Command command, int millis)
      throws InterruptedException {
    var text = new StringBuilder();
    var decoders = new EnumMap<Channel, Utf8Text>(Channel.class);
    ExecEvent.Exited end = null;
    try (ExecStream stream = control.execs().start(at.caller(), id, ExecStart.of(command))) {
      for (ExecEvent event; (event = stream.next()) != null; ) {
        if (event instanceof ExecEvent.Output output) {
          String piece =
              decoders
                  .computeIfAbsent(output.channel(), _ -> new Utf8Text())
                  .decode(output.bytes());
          text.append(piece, 0, Math.min(piece.length(), MAX_CHARS - text.length()));
        } else if (event instanceof ExecEvent.Exited exited) {
          end = exited;
        }
      }
    }
    if (end == null) {
      throw new IllegalStateException("a command ended without its end");
    }
    if (end.cause() == ExecEvent.Cause.TIMED_OUT) {
      text.append("\n<bash_metadata>\ncommand timed out after ")
          .append(millis)
          .append("ms\n</bash_metadata>");
    }
    boolean returned = end.cause() == ExecEvent.Cause.RETURNED;
    String error = returned ? null : end.cause().name().toLowerCase(Locale.ROOT);
    return Envelope.of(new Result(text.toString(), end.code(), error));
  }

  /**
   * How it went.
   *
   * @param output of both streams, in the order of its coming
   */
  @JsonInclude(JsonInclude.Include.NON_NULL)
  record Result(String output, int exitCode, @Nullable String error) {}
}
