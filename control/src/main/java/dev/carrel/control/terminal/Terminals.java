package dev.carrel.control.terminal;

import dev.carrel.control.access.AccessTokens;
import dev.carrel.control.audit.Audit;
import dev.carrel.control.audit.AuditEntry;
import dev.carrel.control.audit.AuditEntry.Outcome;
import dev.carrel.control.audit.AuditEntry.Who;
import dev.carrel.control.exec.Exec;
import dev.carrel.control.exec.ExecOutput;
import dev.carrel.control.exec.ExecStart;
import dev.carrel.control.exec.ExecStream;
import dev.carrel.control.exec.Execs;
import dev.carrel.control.exec.SignalScope;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.control.sandbox.Sandboxes;
import dev.carrel.spi.Command;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.ExecEvent;
import dev.carrel.spi.ExecId;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/**
 * Terminals of sandboxes. Each is an exec in the background, so it outlives whoever looks at it and
 * this process; several may look at it at once. Safe for many threads.
 */
public final class Terminals {
  public static final Duration USUAL_LIFE = Duration.ofHours(1);
  public static final Duration LONGEST_LIFE = Duration.ofDays(7);

  private static final int KILL = 9;
  private static final int LINE_SEARCH = 4096;

  private final Sandboxes sandboxes;
  private final Execs execs;
  private final AccessTokens tokens;
  private final Audit audit;
  private final Viewers viewers = new Viewers();

  public Terminals(Sandboxes sandboxes, Execs execs, AccessTokens tokens, Audit audit) {
    this.sandboxes = sandboxes;
    this.execs = execs;
    this.tokens = tokens;
    this.audit = audit;
  }

  /** Starts one; nobody is attached yet. */
  public Exec open(Caller caller, SandboxId sandbox, TerminalStart start)
      throws InterruptedException {
    try (ExecStream stream = execs.start(caller, sandbox, start.execStart())) {
      return started(caller, sandbox, stream);
    }
  }

  /**
   * Starts one that belongs to its viewer: closing the attachment ends it and all that runs in it.
   * The program waits for the viewer rather than lose output. Others may join it meanwhile.
   */
  public Attachment openAttached(Caller caller, SandboxId sandbox, TerminalStart start)
      throws InterruptedException {
    // Its end is that of the viewer, which may be in days: until then the sandbox is in use.
    ExecStart request = start.execStart().whileItRuns();
    ExecStream screen = execs.start(caller, sandbox, request).keepUp().killedAtClose();
    boolean attached = false;
    try {
      ExecId id = started(caller, sandbox, screen).id();
      write(caller, sandbox, id, "terminal.attach", Map.of("mode", word(Mode.WRITE)));
      viewers.enter(id, Mode.WRITE);
      attached = true;
      return new Attachment(
          screen, keyboard(caller, sandbox, id), true, 0, 0, () -> viewers.leave(id, Mode.WRITE));
    } finally {
      if (!attached) {
        screen.close();
      }
    }
  }

  private Exec started(Caller caller, SandboxId sandbox, ExecStream stream) {
    Exec exec = execs.get(caller, sandbox, stream.id());
    ExecEvent.Exited exited = exec.exited();
    if (exited != null && exited.cause() == ExecEvent.Cause.NOT_STARTED) {
      throw SandboxException.invalid("command", String.valueOf(exited.message()));
    }
    return exec;
  }

  /** Newest first, those that have ended too. */
  public List<Exec> list(Caller caller, SandboxId sandbox) {
    return execs.list(caller, sandbox).stream().filter(Exec::terminal).toList();
  }

  /** One, running or ended. */
  public Exec get(Caller caller, SandboxId sandbox, ExecId id) {
    Exec exec = execs.get(caller, sandbox, id);
    if (!exec.terminal()) {
      throw new SandboxException(ErrorCode.WRONG_STATE, "exec " + id + " has no terminal")
          .withHint("follow its output instead");
    }
    return exec;
  }

  /**
   * Joins one, also one that has ended. A paused sandbox goes on.
   *
   * @throws SandboxException {@code WRONG_STATE} when somebody else types there alone, {@code
   *     LIMIT_REACHED} when too many look at it
   */
  public Attachment attach(Caller caller, SandboxId sandbox, ExecId id, Attach how) {
    Exec exec = get(caller, sandbox, id);
    Long asked = how.from();
    long from = asked == null ? scrolledBack(caller, exec, how.scrollback()) : asked;
    if (from > exec.outputEnd()) {
      throw SandboxException.invalid("from", "is beyond the end, which is " + exec.outputEnd());
    }
    if (exec.running()) {
      // One that has ended can be looked at like any output, and needs nothing that runs.
      sandboxes.requireRunning(caller, sandbox);
    }
    viewers.enter(id, how.mode());
    boolean attached = false;
    try {
      write(caller, sandbox, id, "terminal.attach", Map.of("mode", word(how.mode())));
      var attachment =
          new Attachment(
              execs.follow(caller, sandbox, id, from),
              keyboard(caller, sandbox, id),
              how.mode().writes(),
              from,
              exec.outputEnd(),
              () -> viewers.leave(id, how.mode()));
      attached = true;
      return attachment;
    } finally {
      if (!attached) {
        viewers.leave(id, how.mode());
      }
    }
  }

  /** Ends one and all that runs in it; no matter if it has ended already. */
  public void end(Caller caller, SandboxId sandbox, ExecId id) {
    get(caller, sandbox, id);
    try {
      execs.signal(caller, sandbox, id, KILL, SignalScope.TREE);
    } catch (SandboxException e) {
      if (e.code() != ErrorCode.WRONG_STATE) {
        throw e;
      }
    }
  }

  /** Makes a link to one. */
  public TerminalLink link(
      Caller caller, SandboxId sandbox, ExecId id, boolean writes, Duration life) {
    if (life.isNegative() || life.isZero() || life.compareTo(LONGEST_LIFE) > 0) {
      throw SandboxException.invalid(
          "expires_in_seconds", "must be between 1 and " + LONGEST_LIFE.toSeconds());
    }
    get(caller, sandbox, id);
    Instant end = Instant.now().plus(life).truncatedTo(ChronoUnit.SECONDS);
    String mode = word(writes ? Mode.WRITE : Mode.READ);
    var details = Map.of("mode", mode, "expires_at", end.toString());
    write(caller, sandbox, id, "terminal.link", details);
    return new TerminalLink(tokens.ofTerminal(sandbox, id, writes, end), writes, end);
  }

  /** What a link's token lets one do with this terminal; empty: nothing, or no longer. */
  public Optional<Admission> admit(SandboxId sandbox, ExecId id, String token) {
    return tokens
        .opensTerminal(sandbox, id, token, Instant.now())
        .flatMap(
            grant ->
                tokens
                    .owner(sandbox)
                    .map(owner -> new Admission(owner, grant.writes(), grant.end())));
  }

  /** The middle of a line could be the middle of a character or of what moves the cursor. */
  private long scrolledBack(Caller caller, Exec exec, int bytes) {
    long cut = exec.outputEnd() - bytes;
    if (cut <= 0) {
      return 0;
    }
    ExecOutput output = execs.output(caller, exec.sandbox(), exec.id(), cut, LINE_SEARCH);
    long at = output.from();
    for (ExecEvent.Output chunk : output.chunks()) {
      for (ByteBuffer left = chunk.bytes().duplicate(); left.hasRemaining(); ) {
        at++;
        if (left.get() == '\n') {
          return at;
        }
      }
    }
    return cut;
  }

  private Attachment.Keyboard keyboard(Caller caller, SandboxId sandbox, ExecId id) {
    return new Attachment.Keyboard() {
      @Override
      public void type(ByteBuffer bytes) {
        execs.write(caller, sandbox, id, bytes, false);
      }

      @Override
      public void resize(Command.TerminalSize size) {
        execs.resize(caller, sandbox, id, size);
      }
    };
  }

  private void write(
      Caller caller, SandboxId id, ExecId exec, String action, Map<String, String> details) {
    Sandbox sandbox = sandboxes.get(caller, id);
    var who = new Who(sandbox.tenant(), caller.nameFor(sandbox.tenant()), sandbox.namespace(), id);
    audit.write(
        AuditEntry.of(who, action, Outcome.OK).withSubject(exec.value()).withDetails(details));
  }

  private static String word(Mode mode) {
    return mode.name().toLowerCase(Locale.ROOT);
  }
}
