package dev.carrel.control.sandbox;

import dev.carrel.control.telemetry.Telemetry;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.time.Instant;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Writes down why sandboxes could not start or were lost, at once or when the store lets it. */
final class FailedStarts {
  private static final Logger LOG = LoggerFactory.getLogger(FailedStarts.class);

  private final SandboxStore store;
  private final WorkspaceVolumes volumes;
  private final Telemetry telemetry;
  private final Supplier<Instant> now;
  private final News news;
  // Those that could not be written down, by the row as it still stands.
  private final Map<Sandbox, Failure> unwritten = new ConcurrentHashMap<>();

  /** Tells what happened. */
  interface News {
    void tell(Sandbox row, String what, String cause);
  }

  FailedStarts(
      SandboxStore store,
      WorkspaceVolumes volumes,
      Telemetry telemetry,
      Supplier<Instant> now,
      News news) {
    this.store = store;
    this.volumes = volumes;
    this.telemetry = telemetry;
    this.now = now;
    this.news = news;
  }

  /** Returns what its caller is to be told. */
  SandboxException note(Sandbox row, RuntimeException unexpected) {
    telemetry.count("sandboxes_start_failed");
    SandboxException reason = explained(row, unexpected);
    Failure failure = Failures.startFailed(reason);
    note(row, failure);
    return new SandboxException(
            reason.code(),
            "sandbox %s could not start: %s".formatted(row.id(), reason.message()),
            reason)
        .withHint(failure.hint());
  }

  void note(Sandbox row, Failure failure) {
    try {
      write(row, failure);
    } catch (RuntimeException e) {
      LOG.warn("the failure of sandbox {} is not written yet: {}", row.id(), e.toString());
      unwritten.put(row, failure);
    }
  }

  void writeRemains() {
    unwritten.forEach(
        (row, failure) -> {
          try {
            write(row, failure);
            unwritten.remove(row);
          } catch (RuntimeException e) {
            LOG.debug("the failure of sandbox {} is still not written", row.id(), e);
          }
        });
  }

  private static SandboxException explained(Sandbox row, RuntimeException reason) {
    if (reason instanceof SandboxException said) {
      return said;
    }
    LOG.error("sandbox {} could not start", row.id(), reason);
    return new SandboxException(
        ErrorCode.ENGINE_FAILED, "it failed as nobody foresaw: " + reason, reason);
  }

  private void write(Sandbox row, Failure failure) {
    boolean first = row.startedAt() == null;
    Sandbox failed =
        row.edit()
            .status(SandboxStatus.FAILED)
            .ended(now.get(), failure)
            // Nothing was ever in it.
            .volume(first ? null : row.volume())
            .build();
    // Before the row moves: what fails here is tried again until that is done.
    volumes.release(row);
    if (store.transition(row, failed, failure.cause())) {
      news.tell(failed, "failed", failure.cause());
      if (first) {
        volumes.drop(row);
      }
    }
  }
}
