package dev.carrel.control.sandbox;

import dev.carrel.control.telemetry.Telemetry;
import dev.carrel.spi.SandboxException;
import java.time.Instant;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Writes down why sandboxes could not start, at once or as soon as the store lets it. */
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
  SandboxException note(Sandbox row, SandboxException reason) {
    telemetry.count("sandboxes_start_failed");
    Failure failure = Failures.startFailed(reason);
    try {
      write(row, failure);
    } catch (SandboxException e) {
      LOG.warn("the failure of sandbox {} is not written yet: {}", row.id(), e.message());
      unwritten.put(row, failure);
    }
    return new SandboxException(
            reason.code(),
            "sandbox %s could not start: %s".formatted(row.id(), reason.message()),
            reason)
        .withHint(failure.hint());
  }

  void writeRemains() {
    unwritten.forEach(
        (row, failure) -> {
          write(row, failure);
          unwritten.remove(row);
        });
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
    if (store.transition(row, failed, failure.cause())) {
      news.tell(failed, "failed", failure.cause());
      if (first) {
        volumes.drop(row);
      } else {
        volumes.release(row);
      }
    }
  }
}
