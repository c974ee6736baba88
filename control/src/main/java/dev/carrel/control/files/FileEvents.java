package dev.carrel.control.files;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** Changes under a directory, live. For one thread; must be closed. */
@SuppressWarnings("DoNotCallSuggester")
public final class FileEvents implements AutoCloseable {
  FileEvents() {}

  /** Waits for the next change; null when the time is over. */
  public @Nullable FileEvent next(Duration patience) throws InterruptedException {
    throw dev.carrel.control.telemetry.Soon.here();
  }

  @Override
  public void close() {
    throw dev.carrel.control.telemetry.Soon.here();
  }

  /** One change. */
  public record FileEvent(String path, Kind kind, boolean directory) {
    /** What happened; after OVERFLOW some changes are missing. */
    public enum Kind {
      CREATED,
      MODIFIED,
      DELETED,
      MOVED_AWAY,
      MOVED_HERE,
      OVERFLOW
    }
  }
}
