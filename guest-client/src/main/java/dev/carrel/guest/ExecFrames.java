package dev.carrel.guest;

import dev.carrel.spi.Command;
import dev.carrel.spi.ExecId;
import dev.carrel.spi.FileChange;
import dev.carrel.spi.SandboxException;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.HashMap;
import java.util.List;
import java.util.Objects;

/** Frames about execs, to and from records. */
final class ExecFrames {
  private static final int MAX_MESSAGE = 4096;
  static final int MAX_SIGNAL = 64;
  private static final int MAX_ID = 64;
  private static final FileChange.Action[] ACTIONS = FileChange.Action.values();

  private ExecFrames() {}

  static Request exec(ExecId id, ExecRequest exec) {
    Command command = exec.command();
    Request request = new Request(Wire.EXEC).put(10, "exec_id", id.value());
    command.arguments().forEach(argument -> request.put(11, "command", argument));
    var environment = new HashMap<>(exec.environment());
    environment.putAll(command.environment());
    environment.forEach((name, value) -> request.put(12, "env", name + "=" + value));
    if (command.cwd() != null) {
      request.path(13, "cwd", command.cwd());
    }
    if (command.terminal() != null) {
      request
          .put(16, true)
          .put(Wire.TAG_ROWS, command.terminal().rows())
          .put(Wire.TAG_COLUMNS, command.terminal().columns());
    }
    if (command.timeout() != null) {
      // A timeout below a millisecond must not become "none".
      request.put(19, Math.max(1, command.timeout().toMillis()));
    }
    request.put(20, exec.grace().toMillis());
    flag(request, 21, command.stdin());
    flag(request, 22, exec.control());
    flag(request, 23, exec.keep());
    if (exec.retain().bytes() > 0) {
      request.put(24, exec.retain().bytes());
    }
    flag(request, 28, exec.changes());
    return request;
  }

  static Request attach(ExecId id) {
    return new Request(Wire.ATTACH).put(10, "exec_id", id.value());
  }

  static GuestEvent.Started started(Fields fields, ExecId expected) throws Malformed {
    if (!expected.value().equals(fields.text(10, MAX_ID))) {
      throw new Malformed("an answer about another exec than " + expected);
    }
    return new GuestEvent.Started(fields.natural(11), fields.natural(12));
  }

  static GuestEvent.Exited exited(Fields fields, List<FileChange> changes, boolean changesCut)
      throws Malformed {
    Integer code = fields.optional(Wire.TAG_CODE, 0, 255);
    Integer signal = fields.optional(Wire.TAG_SIGNAL, 1, MAX_SIGNAL);
    if ((code == null) == (signal == null)) {
      throw new Malformed(
          "an end with " + (code == null ? "neither" : "both") + " code and signal");
    }
    return new GuestEvent.Exited(
        code,
        signal,
        fields.flag(Wire.TAG_TIMED_OUT),
        fields.flag(38),
        fields.text(33, MAX_MESSAGE),
        micros(fields, Wire.TAG_DURATION),
        micros(fields, 35),
        fields.natural(36),
        (int) fields.integer(37, 0, Integer.MAX_VALUE),
        changes,
        changesCut || fields.flag(39));
  }

  static FileChange change(Fields fields) throws Malformed {
    return new FileChange(
        fields.path(40).shown(),
        ACTIONS[(int) fields.integer(41, 0, ACTIONS.length - 1)],
        fields.natural(42),
        fields.flag(43));
  }

  static ExecInfo info(Fields fields) throws Malformed {
    return new ExecInfo(
        id(Objects.requireNonNullElse(fields.text(10, MAX_ID), "")),
        fields.natural(11),
        fields.flag(13),
        fields.flag(15),
        fields.flag(16),
        fields.natural(14),
        fields.natural(12),
        fields.optional(Wire.TAG_CODE, 0, 255),
        fields.optional(Wire.TAG_SIGNAL, 1, MAX_SIGNAL),
        fields.flag(Wire.TAG_TIMED_OUT),
        micros(fields, Wire.TAG_DURATION));
  }

  private static ExecId id(String value) throws Malformed {
    try {
      return new ExecId(value);
    } catch (SandboxException e) {
      throw new Malformed("an exec that the host did not name: " + e.message());
    }
  }

  private static Duration micros(Fields fields, int tag) throws Malformed {
    return Duration.of(fields.natural(tag), ChronoUnit.MICROS);
  }

  private static void flag(Request request, int tag, boolean flag) {
    if (flag) {
      request.put(tag, true);
    }
  }
}
