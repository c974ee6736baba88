package dev.carrel.control.context;

import dev.carrel.control.exec.MemoryRoom;
import dev.carrel.control.idempotency.KeySettings;
import dev.carrel.control.idempotency.RequestKey;
import dev.carrel.control.idempotency.RequestKeys;
import dev.carrel.control.idempotency.RequestKeys.Kind;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.control.sandbox.RunningSandbox;
import dev.carrel.control.sandbox.Sandboxes;
import dev.carrel.control.telemetry.Telemetry;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.util.Optional;
import java.util.UUID;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Cells that were asked for with a key: each runs once, on a thread that no caller interrupts. */
final class KeyedCells {
  private static final Logger LOG = LoggerFactory.getLogger(KeyedCells.class);

  private final Sandboxes sandboxes;
  private final RequestKeys keys;
  private final KeptCells kept;
  private final Telemetry telemetry;

  KeyedCells(Sandboxes sandboxes, RequestKeys keys, KeySettings settings, Telemetry telemetry) {
    this.sandboxes = sandboxes;
    this.keys = keys;
    this.kept = new KeptCells(settings);
    keys.keepWhile(kept::since);
    this.telemetry = telemetry;
  }

  /** Runs a cell and has its events put into a record. */
  @FunctionalInterface
  interface Running {
    void begin(CellRecord cell) throws InterruptedException;
  }

  /** The cell of this key: a new one, or the one that an earlier request began. */
  Keyed obtain(Caller caller, SandboxId sandbox, RequestKey key, MemoryRoom room, Running running)
      throws InterruptedException {
    sandboxes.requireVisible(caller, sandbox);
    try (RequestKeys.Claim claim = keys.claim(caller.tenant(), sandbox, Kind.CODE, key)) {
      Optional<String> known = claim.target();
      if (known.isPresent()) {
        telemetry.count("cells_replayed");
        CellRecord cell = kept.find(known.get()).orElseThrow(KeyedCells::gone);
        if (!cell.over() && sandboxes.running(sandbox).filter(RunningSandbox::paused).isPresent()) {
          // Else whoever asks again for what stands still would wait for ever.
          sandboxes.requireRunning(caller, sandbox);
        }
        return new Keyed(cell, true);
      }
      sandboxes.requireRunning(caller, sandbox);
      var cell = new CellRecord(room.share(caller.tenant()), kept::trim);
      String id = UUID.randomUUID().toString();
      // Before its key is: one of whom nobody knows that it runs may be forgotten.
      kept.add(id, caller.tenant(), sandbox, cell);
      try {
        claim.keep(id, _ -> {});
      } catch (RuntimeException e) {
        kept.remove(id);
        throw e;
      }
      Thread.ofVirtual()
          .name(sandbox + "-" + id)
          .start(
              () ->
                  run(
                      cell,
                      running,
                      () -> {
                        keys.forget(caller.tenant(), sandbox, key);
                        kept.remove(id);
                      }));
      return new Keyed(cell, false);
    }
  }

  void removeAll(SandboxId sandbox) {
    kept.removeAll(sandbox);
  }

  static void run(CellRecord cell, Running running, Runnable forget) {
    try {
      running.begin(cell);
    } catch (SandboxException e) {
      try {
        if (e.code() != ErrorCode.GUEST_LOST) {
          // It never ran: whoever asks again, asks for the first time.
          forget.run();
        }
      } catch (RuntimeException unwritten) {
        LOG.warn("the key of code that never ran is not free: {}", unwritten.toString());
      } finally {
        cell.fail(e);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      cell.fail(Cell.shuttingDown());
    } catch (RuntimeException e) {
      // The top of a thread: whoever waits for the cell must learn of it.
      cell.fail(new SandboxException(ErrorCode.INTERNAL, "the code could not be run: " + e, e));
    }
  }

  private static SandboxException gone() {
    return new SandboxException(
            ErrorCode.RESULT_GONE,
            "the code with this key ran before, and its result is no longer kept")
        .withHint("see what it did, and use a new key to run it again");
  }

  /** A cell with a key, and whether an earlier request started it. */
  record Keyed(CellRecord cell, boolean replay) {}
}
