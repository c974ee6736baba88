package dev.carrel.engine.testkit;

import dev.carrel.guest.ExecRequest;
import dev.carrel.guest.ExecSession;
import dev.carrel.guest.Guest;
import dev.carrel.guest.GuestEvent;
import dev.carrel.spi.Command;
import dev.carrel.spi.ExecEvent.Channel;
import dev.carrel.spi.ExecId;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** An exec that was followed to its end. */
public record Finished(
    @Nullable Integer code, String stdout, String stderr, GuestEvent.Exited exit) {
  /** Enough to find the usual programs; a guest adds nothing of its own. */
  public static final Map<String, String> ENVIRONMENT =
      Map.of("PATH", "/usr/local/bin:/usr/bin:/bin", "LANG", "C.UTF-8");

  /** Runs a line of shell and waits. */
  public static Finished shell(Guest guest, String line) {
    return run(guest, Command.shell(line));
  }

  public static Finished run(Guest guest, Command command) {
    return run(guest, ExecRequest.of(command, ENVIRONMENT));
  }

  public static Finished run(Guest guest, ExecRequest request) {
    try (ExecSession session = guest.exec(ExecId.random(), request)) {
      return follow(session);
    }
  }

  /** Takes what is left of a session's events. */
  public static Finished follow(ExecSession session) {
    var stdout = new ByteArrayOutputStream();
    var stderr = new ByteArrayOutputStream();
    for (GuestEvent event = session.next(); event != null; event = session.next()) {
      switch (event) {
        case GuestEvent.Output output -> {
          var stream = output.channel() == Channel.STDOUT ? stdout : stderr;
          stream.write(output.bytes().array(), 0, output.bytes().limit());
        }
        case GuestEvent.Exited exited -> {
          return new Finished(
              exited.code(),
              stdout.toString(StandardCharsets.UTF_8),
              stderr.toString(StandardCharsets.UTF_8),
              exited);
        }
        case GuestEvent.Started _, GuestEvent.Control _, GuestEvent.Gap _ -> {}
      }
    }
    throw new AssertionError("the session ended without an exit");
  }
}
