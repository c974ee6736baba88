package dev.carrel.control.exec;

import dev.carrel.control.sandbox.RunningSandbox;
import dev.carrel.guest.ExecInfo;
import dev.carrel.guest.ExecSession;
import dev.carrel.guest.SignalScope;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.ExecEvent;
import dev.carrel.spi.ExecId;
import dev.carrel.spi.SandboxException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Joins the execs of a sandbox that outlived the process which started them. */
final class ExecRecovery {
  private static final Logger LOG = LoggerFactory.getLogger(ExecRecovery.class);
  private static final int SIGKILL = 9;
  static final String GONE = "it was gone when the server started";
  private static final String UNKNOWN = "(started by an earlier server)";

  private final RunningSandbox sandbox;
  private final ExecStore store;
  private final ExecAudit audit;
  private final SpillDirectory spills;
  private final ExecSettings settings;
  private final SandboxExecs box;
  private final OnEnd onEnd;
  private @Nullable SandboxException silence;

  ExecRecovery(
      RunningSandbox sandbox,
      ExecStore store,
      ExecAudit audit,
      SpillDirectory spills,
      ExecSettings settings,
      SandboxExecs box,
      OnEnd onEnd) {
    this.sandbox = sandbox;
    this.store = store;
    this.audit = audit;
    this.spills = spills;
    this.settings = settings;
    this.box = box;
    this.onEnd = onEnd;
  }

  /** May be repeated: what is joined already stays so. */
  void run(Set<ExecId> others) {
    Map<ExecId, ExecInfo> inside = inside();
    others.forEach(inside::remove);
    for (Exec row : store.list(sandbox.id())) {
      recover(row, inside.remove(row.id()));
    }
    // The row of an exec is written a moment after its start: the crash may have come between.
    for (ExecInfo unknown : inside.values()) {
      if (unknown.running() && unknown.controlled()) {
        end(unknown);
      } else if (unknown.running()) {
        Exec row = adopted(unknown);
        store.started(row, () -> false);
        join(row, 0);
      }
    }
    tellSilence();
  }

  /** As {@link #run}, of these alone. */
  void runKnown(Set<ExecId> known) {
    Map<ExecId, ExecInfo> inside = inside();
    for (Exec row : store.list(sandbox.id())) {
      if (known.contains(row.id())) {
        recover(row, inside.get(row.id()));
      }
    }
    tellSilence();
  }

  private Map<ExecId, ExecInfo> inside() {
    Map<ExecId, ExecInfo> inside = new HashMap<>();
    sandbox.guest().list().forEach(info -> inside.put(info.id(), info));
    return inside;
  }

  private void recover(Exec row, @Nullable ExecInfo info) {
    if (box.find(row.id()) != null) {
      return;
    }
    if (!row.running()) {
      box.countSpill(row.id(), spills.size(sandbox.id(), row.id()));
    } else if (info == null) {
      noteLost(store, audit, row, settings.maxRetained());
    } else {
      join(row, info.end());
    }
  }

  private void tellSilence() {
    if (silence != null) {
      throw silence;
    }
  }

  /** An interpreter that waited for its first cell: no context has it, and nobody will. */
  private void end(ExecInfo interpreter) {
    try {
      sandbox.guest().signal(interpreter.id(), SIGKILL, SignalScope.TREE);
    } catch (SandboxException e) {
      LOG.info("interpreter {} has ended by itself: {}", interpreter.id(), e.message());
    }
  }

  static void noteLost(ExecStore store, ExecAudit audit, Exec row, int keep) {
    noteLost(store, audit, row, keep, GONE);
  }

  static void noteLost(ExecStore store, ExecAudit audit, Exec row, int keep, String why) {
    var exited =
        new ExecEvent.Exited(
            137,
            null,
            ExecEvent.Cause.SANDBOX_LOST,
            Duration.ZERO,
            Duration.ZERO,
            0,
            0,
            List.of(),
            false,
            why);
    store.ended(
        row.with(row.pid(), row.outputEnd(), Instant.now(), exited), null, keep, _ -> {}, () -> {});
    store.owner(row.sandbox()).ifPresent(owner -> audit.lost(owner, row));
  }

  /**
   * @param known up to here an earlier process may have seen its output
   */
  private void join(Exec row, long known) {
    // A shell is used by those who look at it, of whom there are none yet.
    RunningSandbox.Use use = row.terminal() ? () -> {} : sandbox.use();
    Runnable freeSlot = box.takeSlotAnyway();
    MemoryRoom.Share memory = box.memory(sandbox.tenant());
    boolean joined = false;
    try {
      var share = new SpillShare(box.spillLeft(), settings.spill().bytes());
      Path path = spills.file(sandbox.id(), row.id());
      if (sandbox.redaction().active()) {
        // Masks are not as long as what they hide, so where to go on is unknown: what the guest
        // still has is read again from its beginning.
        Files.deleteIfExists(path);
      }
      OutputLog log =
          Files.exists(path)
              ? OutputLog.resume(path, share, memory::take)
              : new OutputLog(path, share, memory::take);
      ExecSession session = sandbox.attach(row.id(), log.end());
      var live =
          new LiveExec(
              row,
              sandbox,
              session,
              sandbox.usage(),
              log,
              settings,
              memory,
              over -> {
                box.noteSpill(row.id(), share.taken());
                freeSlot.run();
                use.close();
                onEnd.ended(sandbox, box, over);
              });
      live.joined(log.end(), known);
      replay(log, live);
      box.add(live);
      try {
        live.begin();
        joined = true;
      } finally {
        if (!joined) {
          box.remove(live);
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (IOException | SandboxException e) {
      LOG.warn("exec {} could not be joined again: {}", row.id(), e.toString());
      if (e instanceof SandboxException silent && silent.code() == ErrorCode.GUEST_LOST) {
        // It may run on, for all that is known.
        silence = silent;
      } else {
        noteLost(store, audit, row, settings.maxRetained());
      }
    } finally {
      if (!joined) {
        memory.close();
        freeSlot.run();
        use.close();
      }
    }
  }

  private static void replay(OutputLog log, LiveExec live) {
    long end = log.end();
    for (long at = 0; at < end; ) {
      OutputLog.Piece piece = log.read(at, OutputBlock.CAPACITY);
      piece.outputs().forEach(output -> live.replayed(output.channel(), output.bytes()));
      at = piece.next();
    }
  }

  private Exec adopted(ExecInfo info) {
    return new Exec(
        info.id(),
        sandbox.id(),
        List.of(UNKNOWN),
        null,
        true,
        false,
        Duration.ZERO,
        "",
        "",
        Instant.now().minus(info.duration()),
        null,
        info.pid(),
        0,
        null);
  }

  /** Told when a joined exec has ended. */
  interface OnEnd {
    void ended(RunningSandbox sandbox, SandboxExecs box, LiveExec live);
  }
}
