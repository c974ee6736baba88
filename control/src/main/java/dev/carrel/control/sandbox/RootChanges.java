package dev.carrel.control.sandbox;

import dev.carrel.spi.DataSize;
import dev.carrel.spi.SandboxId;
import dev.carrel.spi.Volumes;
import java.io.IOException;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/** What a sandbox changed of the root that it started on. */
public interface RootChanges {
  SandboxId sandbox();

  /** What it is on. */
  String image();

  /** When it started on that, while it runs; null: it does not. */
  @Nullable Instant startedAt();

  /** How much there can be. */
  DataSize size();

  /** As they are at the moment of the call; who writes them waits only while they are copied. */
  <T> T read(Volumes.ChangesReader<T> reader) throws IOException, InterruptedException;
}
