package dev.carrel.server.rest;

import dev.carrel.control.exec.ExecStart;
import dev.carrel.control.idempotency.RequestKey;
import dev.carrel.server.http.Fields;
import dev.carrel.spi.Command;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What a caller wants to have run.
 *
 * @param what the command, and the one instead where there is no such program
 * @param secrets names of those that it gets in its environment
 * @param artifacts files to sign when it has ended
 * @param input the whole of standard input; null when it is empty or comes later
 */
@SuppressWarnings("ArrayRecordComponent") // written once, never compared
record ExecRequest(
    ExecStart what,
    byte @Nullable [] input,
    boolean background,
    List<String> secrets,
    List<String> artifacts) {

  private static final double MAX_SECONDS = 1e9;

  static ExecRequest of(Fields fields) {
    List<String> words = fields.words("command").orElseThrow(() -> fields.missing("command"));
    if (words.isEmpty() || words.getFirst().isEmpty()) {
      throw fields.wrong("command", "must not be empty");
    }
    String stdin = fields.string("stdin");
    boolean open = fields.bool("stdin_open", false);
    if (stdin != null && open) {
      throw fields.wrong("stdin_open", "cannot go with stdin, which is all of standard input");
    }
    Map<String, String> env = fields.stringMap("env");
    Fields terminal = fields.object("terminal");
    var plain =
        new Command(
            words,
            env == null ? Map.of() : env,
            fields.string("cwd"),
            terminal == null ? null : size(terminal),
            timeout(fields),
            open || stdin != null || terminal != null);
    return new ExecRequest(
        fields.isString("command") ? line(plain) : ExecStart.of(plain),
        stdin == null ? null : stdin.getBytes(StandardCharsets.UTF_8),
        fields.bool("background", false),
        fields.words("secrets").orElse(List.of()),
        fields.words("artifacts").orElse(List.of()));
  }

  static Command.TerminalSize size(Fields fields) {
    return new Command.TerminalSize(
        fields.requiredWholeNumber("rows", 1, 1000), fields.requiredWholeNumber("cols", 1, 1000));
  }

  static @Nullable Duration timeout(Fields fields) {
    Double seconds = fields.decimal("timeout_seconds");
    if (seconds == null) {
      return null;
    }
    if (seconds <= 0 || seconds > MAX_SECONDS) {
      throw fields.wrong("timeout_seconds", "must be more than 0 and at most 1000000000");
    }
    return Duration.ofNanos(Math.max(1, Math.round(seconds * 1e9)));
  }

  /** For control, with what the caller said to be able to ask again. */
  // NullAway does not see the annotation of an array's component in a class file.
  @SuppressWarnings("NullAway")
  ExecStart start(@Nullable RequestKey key, long from) {
    return new ExecStart(
        what.command(), what.otherwise(), background, input, key, from, secrets, artifacts, true);
  }

  private static ExecStart line(Command said) {
    return ExecStart.shell(
        shell ->
            new Command(
                List.of(shell, "-c", said.arguments().getFirst()),
                said.environment(),
                said.cwd(),
                said.terminal(),
                said.timeout(),
                said.stdin()));
  }
}
