package dev.carrel.control.exec;

import dev.carrel.control.admission.Place;
import dev.carrel.control.admission.Queue;
import dev.carrel.control.admission.Waiting;
import dev.carrel.control.artifact.Artifacts;
import dev.carrel.control.artifact.Signed;
import dev.carrel.control.event.ExecutionEvents;
import dev.carrel.control.idempotency.RequestKeys;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.control.sandbox.RunningSandbox;
import dev.carrel.control.sandbox.Sandboxes;
import dev.carrel.control.telemetry.Telemetry;
import dev.carrel.control.vault.Vault;
import dev.carrel.guest.ExecRequest;
import dev.carrel.guest.ExecSession;
import dev.carrel.spi.Command;
import dev.carrel.spi.DataSize;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.ExecEvent;
import dev.carrel.spi.ExecId;
import dev.carrel.spi.Machine;
import dev.carrel.spi.SandboxException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Starts commands and notes how they end. */
final class ExecStarter {
  /** Kept in the guest too, so that a crash of this process loses no output. */
  private static final DataSize RETAIN = DataSize.ofKibibytes(512);

  private static final Logger LOG = LoggerFactory.getLogger(ExecStarter.class);
  private static final int WORTH_FORGETTING = 4096;
  private static final int INPUT_PIECE = 64 * 1024;
  private static final int NOT_FOUND = 127;
  private static final String TERMINAL_TYPE = "xterm-256color";

  private final Sandboxes sandboxes;
  private final ExecSettings settings;
  private final ExecStore store;
  private final SpillDirectory spills;
  private final Queue queue;
  private final Vault vault;
  private final Telemetry telemetry;
  private final ExecAudit audit;
  private final ExecutionEvents events;
  private final Artifacts artifacts;

  ExecStarter(
      Sandboxes sandboxes,
      ExecSettings settings,
      ExecStore store,
      SpillDirectory spills,
      Queue queue,
      Vault vault,
      Telemetry telemetry,
      ExecAudit audit,
      ExecutionEvents events,
      Artifacts artifacts) {
    this.sandboxes = sandboxes;
    this.settings = settings;
    this.store = store;
    this.spills = spills;
    this.queue = queue;
    this.vault = vault;
    this.telemetry = telemetry;
    this.audit = audit;
    this.events = events;
    this.artifacts = artifacts;
  }

  /**
   * Returns once it runs, or could not be started. One in the foreground keeps its place in the
   * queue to its end; one in the background or with a terminal lives as long as its user likes, and
   * so keeps it only until it runs.
   *
   * @param found the sandbox as it was when this was asked for
   * @param claim on the key that shall stand for it
   */
  LiveExec start(
      Caller caller,
      RunningSandbox found,
      SandboxExecs box,
      ExecStart request,
      Waiting waiting,
      RequestKeys.@Nullable Claim claim)
      throws InterruptedException {
    boolean background = request.background();
    artifacts.check(request.artifacts());
    Command command = limited(request.command(), background);
    Secrets secrets = secrets(caller, found, request);
    RunningSandbox sandbox;
    LiveExec live;
    try (RunningSandbox.Use _ = found.use();
        Place place = queue.enterExecution(caller.tenant(), found, command.timeout(), waiting)) {
      // It may have been paused, or have begun anew, while this waited.
      sandbox = sandboxes.requireRunning(caller, found.id());
      if (!sandbox.equals(found)) {
        secrets = secrets(caller, sandbox, request);
      }
      var asked = new Asked(request, caller.nameFor(sandbox.tenant()), place, secrets);
      live = launch(sandbox, box, Queue.within(command, place), asked, claim);
      Command otherwise = request.otherwise();
      if (otherwise != null && isMissing(live.exec())) {
        Command second = Queue.within(limited(otherwise, background), place);
        live = launch(sandbox, box, second, asked, claim);
      }
    }
    if (background || command.terminal() != null) {
      record(sandbox, live);
    }
    byte[] input = request.input();
    if (input != null) {
      LiveExec fed = live;
      // Beside the reading of the output, since a program may write before it has read everything.
      Thread.ofVirtual().name(live.id() + "-stdin").start(() -> feed(fed, input));
    }
    return live;
  }

  private Secrets secrets(Caller caller, RunningSandbox sandbox, ExecStart request) {
    return new Secrets(
        vault.inject(caller, sandbox, sandbox.secrets()),
        vault.inject(caller, sandbox, request.secrets()));
  }

  /** Acknowledged before its end: so it is on record before, and what is not must not run on. */
  private void record(RunningSandbox sandbox, LiveExec live) {
    boolean recorded = false;
    try {
      audit.started(sandbox, live.exec());
      recorded = true;
    } finally {
      if (!recorded) {
        live.kill();
      }
    }
  }

  /** Before anybody learns of the end: the answer names what it left. */
  private void sign(RunningSandbox sandbox, LiveExec live, List<String> named) {
    Exec over = live.exec();
    ExecEvent.Exited exited = Objects.requireNonNull(over.exited());
    try {
      live.signed(artifacts.ended(sandbox, over.id(), ExecAudit.principal(over), exited, named));
    } catch (SandboxException e) {
      unsigned(live, e.message());
    } catch (RuntimeException e) {
      // A store that refuses one row must not keep the end of the exec from being noted.
      LOG.error("exec {}: what it left could not be signed", over.id(), e);
      unsigned(live, "the server failed");
    }
  }

  /** The exec has ended all the same, and its answer says what is missing. */
  private static void unsigned(LiveExec live, String reason) {
    live.signed(new Signed(List.of(), List.of(new Signed.Skipped("", reason)), true));
  }

  /** The end of one that an earlier process started; what that one was told to sign is lost. */
  void onJoinedEnd(RunningSandbox sandbox, SandboxExecs box, LiveExec live) {
    sign(sandbox, live, List.of());
    onEnd(sandbox, box, live);
  }

  private void onEnd(RunningSandbox sandbox, SandboxExecs box, LiveExec live) {
    Exec over = live.exec();
    ExecEvent.Exited exited = Objects.requireNonNull(over.exited());
    sandbox.countExec(exited.duration());
    telemetry.time("execs", exited.duration());
    telemetry.count("execs_" + exited.cause().name().toLowerCase(Locale.ROOT));
    telemetry.add("exec_output_bytes", over.outputEnd());
    store.ended(
        over,
        live.records(),
        settings.maxRetained(),
        dropped -> {
          box.freeSpill(dropped);
          spills.remove(sandbox.id(), dropped);
        },
        () -> {
          box.remove(live);
          live.forgotten();
          if (over.outputEnd() > WORTH_FORGETTING) {
            Thread.ofVirtual().name(live.id() + "-forget").start(() -> forget(sandbox, live.id()));
          }
        });
    audit.ended(sandbox, live);
    events.ended(
        sandbox.where(),
        Map.of("exec_id", over.id().value(), "exit_code", String.valueOf(exited.code())),
        exited.cause(),
        exited.code() == 0,
        exited.duration());
  }

  private LiveExec launch(
      RunningSandbox sandbox,
      SandboxExecs box,
      Command command,
      Asked asked,
      RequestKeys.@Nullable Claim claim)
      throws InterruptedException {
    return claim == null
        ? launchNow(sandbox, box, command, asked, null)
        : undisturbed(() -> launchNow(sandbox, box, command, asked, claim));
  }

  /**
   * On a thread that nobody interrupts: whoever leaves in this moment must not break what a key is
   * about to stand for.
   */
  private static LiveExec undisturbed(Callable<LiveExec> launch) throws InterruptedException {
    var task = new FutureTask<LiveExec>(launch);
    Thread.ofVirtual().start(task);
    boolean interrupted = false;
    try {
      while (true) {
        try {
          return task.get();
        } catch (InterruptedException e) {
          interrupted = true;
        } catch (ExecutionException e) {
          throw switch (e.getCause()) {
            case Error error -> throw error;
            case RuntimeException known -> known;
            case InterruptedException ending -> throw ending;
            case null, default -> new IllegalStateException(e);
          };
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private LiveExec launchNow(
      RunningSandbox sandbox,
      SandboxExecs box,
      Command command,
      Asked asked,
      RequestKeys.@Nullable Claim claim)
      throws InterruptedException {
    Runnable freeSlot = box.takeSlot();
    boolean brief = asked.request().background() || command.terminal() != null;
    MemoryRoom.Share memory = box.memory(sandbox.tenant());
    Runnable leave = brief ? () -> {} : asked.place().hold();
    // Also in the background: what runs is work. A shell that nobody looks at only waits.
    RunningSandbox.Use use = asked.request().busy() ? sandbox.use() : () -> {};
    boolean begun = false;
    try {
      Exec exec = beginning(sandbox, command, asked);
      ExecId id = exec.id();
      sandbox.runs(exec.line());
      Machine.Usage before = sandbox.usageBefore();
      ExecSession session = open(sandbox, command, asked.secrets(), exec, brief, claim);
      var share = new SpillShare(box.spillLeft(), settings.spill().bytes());
      var log = new OutputLog(spills.file(sandbox.id(), id), share, memory::take);
      var live =
          new LiveExec(
              exec,
              sandbox,
              session,
              before,
              log,
              settings,
              memory,
              over -> {
                box.noteSpill(id, share.taken());
                freeSlot.run();
                leave.run();
                use.close();
                sign(sandbox, over, asked.request().artifacts());
                onEnd(sandbox, box, over);
              });
      if (!command.stdin() && command.terminal() == null) {
        live.deaf();
      }
      box.add(live);
      if (claim == null && !brief) {
        store.started(exec, () -> !live.exec().running());
      }
      events.started(sandbox.where(), Map.of("exec_id", id.value()));
      live.begin();
      begun = true;
      return live;
    } catch (SandboxException e) {
      throw sandbox.explain(e);
    } finally {
      if (!begun) {
        // Again, where one that had ended at once could not be noted: each of these counts once.
        memory.close();
        freeSlot.run();
        leave.run();
        use.close();
      }
    }
  }

  /**
   * One with a key is noted before it can have any effect, so that it never runs twice; one that is
   * acknowledged before its end, so that none runs that was refused because it could not be noted.
   */
  private ExecSession open(
      RunningSandbox sandbox,
      Command command,
      Secrets secrets,
      Exec exec,
      boolean brief,
      RequestKeys.@Nullable Claim claim) {
    if (claim != null) {
      claim.keep(exec.id().value(), handle -> ExecStore.insert(handle, exec));
    } else if (brief) {
      store.startedNow(exec);
    }
    try {
      return sandbox.exec(exec.id(), request(sandbox, command, secrets));
    } catch (SandboxException e) {
      boolean noted = claim != null || brief;
      if (noted && e.code() == ErrorCode.GUEST_LOST) {
        // It may have begun before the connection broke.
        ExecRecovery.noteLost(store, audit, exec, settings.maxRetained());
      } else if (claim != null) {
        claim.forget(handle -> ExecStore.delete(handle, exec.id()));
      } else if (brief) {
        store.neverStarted(exec.id());
      }
      throw e;
    }
  }

  private Exec beginning(RunningSandbox sandbox, Command command, Asked asked) {
    return new Exec(
        ExecId.random(),
        sandbox.id(),
        command.arguments().stream().map(sandbox.redaction()::text).toList(),
        sandbox.redaction().textOrNull(command.cwd()),
        asked.request().background(),
        command.terminal() != null,
        asked.place().waited(),
        asked.principal(),
        audit.digest(command, asked.request()),
        Instant.now(),
        null,
        0,
        0,
        null);
  }

  /** Frees the sandbox's memory; the guest drops small ones by itself in time. */
  private static void forget(RunningSandbox sandbox, ExecId id) {
    try {
      sandbox.guest().forget(id);
    } catch (SandboxException e) {
      LOG.debug("exec {} could not be forgotten: {}", id, e.message());
    }
  }

  private static ExecRequest request(RunningSandbox sandbox, Command command, Secrets secrets) {
    Map<String, String> environment = sandbox.environment();
    if (command.terminal() != null || secrets.any()) {
      environment = new HashMap<>(environment);
      environment.putAll(secrets.sandbox());
    }
    if (command.terminal() != null) {
      environment.putIfAbsent("TERM", TERMINAL_TYPE);
    }
    return ExecRequest.of(secrets.over(command), environment)
        .withKeep(true)
        .withChanges(true)
        .withRetain(RETAIN);
  }

  private Command limited(Command command, boolean background) {
    Duration timeout = command.timeout();
    Duration max = settings.maxTimeout(background);
    if (timeout == null) {
      return background ? command : command.withTimeout(settings.defaultTimeout());
    }
    if (timeout.compareTo(max) > 0) {
      throw SandboxException.invalid("timeout_seconds", "must be at most " + max.toSeconds())
          .withHint(
              background
                  ? "leave it out for none, or raise exec.max-background-timeout"
                  : "run it in the background, or raise exec.max-timeout");
    }
    return command;
  }

  private static boolean isMissing(Exec exec) {
    ExecEvent.Exited exited = exec.exited();
    return exited != null
        && exited.cause() == ExecEvent.Cause.NOT_STARTED
        && exited.code() == NOT_FOUND;
  }

  private static void feed(LiveExec live, byte[] input) {
    try {
      int at = 0;
      do {
        int count = Math.min(INPUT_PIECE, input.length - at);
        at += count;
        live.stdin(ByteBuffer.wrap(input, at - count, count), at == input.length);
      } while (at < input.length);
    } catch (SandboxException e) {
      // The program ended without reading all of it, as `head` does: no failure.
      if (e.code() != ErrorCode.WRONG_STATE) {
        live.kill();
      }
    }
  }

  /** What a command was asked for with, and the place in the queue that it waited in. */
  private record Asked(ExecStart request, String principal, Place place, Secrets secrets) {}

  /** Variables that are secrets: those of every process of the sandbox, and those of this one. */
  private record Secrets(Map<String, String> sandbox, Map<String, String> own) {
    /** The command with its own secrets, which win over its other variables. */
    Command over(Command command) {
      if (own.isEmpty()) {
        return command;
      }
      var all = new HashMap<>(command.environment());
      all.putAll(own);
      return new Command(
          command.arguments(),
          all,
          command.cwd(),
          command.terminal(),
          command.timeout(),
          command.stdin());
    }

    boolean any() {
      return !sandbox.isEmpty() || !own.isEmpty();
    }

    /** Never a value. */
    @Override
    public String toString() {
      return "Secrets" + sandbox.keySet() + own.keySet();
    }
  }
}
