package dev.carrel.control.context;

import dev.carrel.spi.ContextId;
import dev.carrel.spi.Language;
import dev.carrel.spi.Preload;
import dev.carrel.spi.SandboxId;
import java.time.Instant;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * One persistent interpreter.
 *
 * @param cwd where its code begins; null: /workspace
 * @param flavour of the kernel, for example {@code ipython}; null until it has started
 * @param preload what was asked for; null: the server's usual one
 * @param start how its present interpreter came to be; null until it has started
 * @param isDefault whether code without a context id runs here
 * @param executionCount cells run since the state began
 */
public record Context(
    ContextId id,
    SandboxId sandbox,
    Language language,
    @Nullable String cwd,
    @Nullable String languageVersion,
    @Nullable String flavour,
    @Nullable Preload preload,
    @Nullable Start start,
    Status status,
    boolean isDefault,
    long executionCount,
    int queued,
    Instant createdAt,
    Instant lastUsedAt) {

  /** How an interpreter came to be. */
  public enum Start {
    /** By a fork of a warm one. */
    ZYGOTE,
    COLD;

    public String wireName() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /** What an interpreter is doing. */
  public enum Status {
    IDLE,
    BUSY,
    /** Its interpreter ended; the next execution starts a fresh one and says so. */
    DEAD,
    /** As dead, because its sandbox's machine ended or the server was away. */
    LOST;

    public String wireName() {
      return name().toLowerCase(Locale.ROOT);
    }
  }
}
