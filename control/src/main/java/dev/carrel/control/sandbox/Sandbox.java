package dev.carrel.control.sandbox;

import dev.carrel.egress.Policy;
import dev.carrel.spi.Isolation;
import dev.carrel.spi.Limits;
import dev.carrel.spi.Rootfs;
import dev.carrel.spi.SandboxId;
import dev.carrel.spi.VolumeId;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A sandbox as its owner sees it.
 *
 * @param owner the principal that created it
 * @param namespace the label inside the tenant whose secrets and rules are its own; never changes
 * @param generation grows with each change of status; guards concurrent changes
 * @param runtime what the engine runs machines with, for example {@code runsc}
 * @param isolation what was really applied; null until it has started
 * @param isolated nothing but its own guest ever starts a process in it: interpreters start from
 *     scratch
 * @param rootfs what it may do with its root
 * @param limits in force; the asked ones until it has started
 * @param network what it may reach
 * @param secrets names of those that all its processes get
 * @param frozen why it stands still until somebody says that it may go on; null: it does not
 * @param volume what /workspace is kept in; null: in memory, gone with the machine
 * @param startedAt when its present or last machine started; null until one has
 */
public record Sandbox(
    SandboxId id,
    String tenant,
    String owner,
    String namespace,
    SandboxStatus status,
    long generation,
    String image,
    String engine,
    String runtime,
    @Nullable Isolation isolation,
    Limits limits,
    Expiry expiry,
    Policy network,
    boolean isolated,
    Rootfs rootfs,
    Map<String, String> envVars,
    Map<String, String> metadata,
    @Nullable String sessionKey,
    List<String> secrets,
    @Nullable String frozen,
    @Nullable Volume volume,
    Instant createdAt,
    Instant lastActivityAt,
    @Nullable Instant startedAt,
    @Nullable Instant stoppedAt,
    Counters counters,
    @Nullable Failure failure) {

  /** Where every sandbox has its files. */
  public static final String WORKSPACE = "/workspace";

  public Sandbox {
    envVars = Map.copyOf(envVars);
    metadata = Map.copyOf(metadata);
    secrets = List.copyOf(secrets);
  }

  /** Whether its files outlive its machine. */
  public boolean persistent() {
    return volume != null;
  }

  /** Whether it has ended and can be started again with its files. */
  public boolean restartable() {
    return persistent() && (status == SandboxStatus.STOPPED || status == SandboxStatus.FAILED);
  }

  /** Why nobody starts it again but who names it: a canary was about to leave it. */
  public Optional<String> held() {
    Failure why = failure;
    return frozen == null && why != null && why.cause().equals(Failure.CANARY)
        ? Optional.of(why.message())
        : Optional.ofNullable(frozen);
  }

  /**
   * When it goes with its files, unless somebody starts or changes it before. Empty: it has not
   * ended, or is kept until somebody comes back to it.
   *
   * @param retention how long one that has ended is kept
   */
  public Optional<Instant> removalAt(Duration retention) {
    boolean kept = status == SandboxStatus.STOPPED && persistent() && expiry.atEnd != OnIdle.STOP;
    if (kept || (status != SandboxStatus.STOPPED && status != SandboxStatus.FAILED)) {
      return Optional.empty();
    }
    Instant ended = stoppedAt == null ? createdAt : stoppedAt;
    return Optional.of((lastActivityAt.isAfter(ended) ? lastActivityAt : ended).plus(retention));
  }

  /** To be changed and built anew. */
  SandboxDraft edit() {
    return new SandboxDraft(this);
  }

  /**
   * What /workspace is kept in.
   *
   * @param name what its tenant calls it; null when it belongs to this sandbox alone
   */
  public record Volume(VolumeId id, @Nullable String name) {}

  /**
   * When it ends by itself.
   *
   * @param idleTimeout zero means never
   * @param onIdle what happens then
   * @param maxLife of one machine, from its start; zero means for ever
   * @param atEnd what happens then
   */
  public record Expiry(Duration idleTimeout, OnIdle onIdle, Duration maxLife, OnIdle atEnd) {
    public Expiry(Duration idleTimeout, OnIdle onIdle, Duration maxLife) {
      this(idleTimeout, onIdle, maxLife, OnIdle.STOP);
    }
  }

  /** What has been done with a sandbox. */
  public record Counters(
      long execCount, long execTotalMillis, long bytesUploaded, long bytesDownloaded) {
    public static final Counters ZERO = new Counters(0, 0, 0, 0);

    Counters plus(Counters other) {
      return new Counters(
          execCount + other.execCount,
          execTotalMillis + other.execTotalMillis,
          bytesUploaded + other.bytesUploaded,
          bytesDownloaded + other.bytesDownloaded);
    }
  }
}
