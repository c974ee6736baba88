package dev.carrel.server.rest;

import dev.carrel.control.budget.Budget;
import dev.carrel.control.sandbox.Failure;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.control.skill.Installed;
import dev.carrel.spi.Isolation;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A sandbox on the wire. */
record SandboxView(
    String id,
    String status,
    String image,
    String engine,
    String runtime,
    @Nullable String isolation,
    List<Measure> isolationMeasures,
    String workspacePath,
    String userId,
    String userName,
    String namespace,
    @Nullable String containerId,
    boolean persistent,
    @Nullable String volume,
    @Nullable String volumeName,
    String createdAt,
    String lastActivityAt,
    @Nullable String startedAt,
    @Nullable String stoppedAt,
    @Nullable String removalAt,
    long memoryMb,
    double cpuCores,
    long diskMb,
    int pids,
    long idleTimeoutSeconds,
    String onIdle,
    long maxLifeSeconds,
    boolean networkEnabled,
    EgressRoutes.PolicyView network,
    boolean isolated,
    String rootfs,
    Map<String, String> envVars,
    long execCount,
    long execTotalMs,
    long bytesUploaded,
    long bytesDownloaded,
    @Nullable String sessionKey,
    List<String> secrets,
    @Nullable String frozen,
    Map<String, String> metadata,
    List<SkillRoutes.InstalledView> skills,
    BudgetRoutes.@Nullable View budget,
    @Nullable List<PackageRoutes.View> packages,
    @Nullable FailureView failure) {

  static SandboxView of(
      Sandbox sandbox, List<Installed> skills, Optional<Budget> budget, Duration retention) {
    return of(sandbox, skills, budget, retention, null);
  }

  /**
   * As {@link #of(Sandbox, List, Optional, Duration)}.
   *
   * @param retention how long one that has ended is kept
   * @param packages what was installed at its making; null: this is not its making
   */
  static SandboxView of(
      Sandbox sandbox,
      List<Installed> skills,
      Optional<Budget> budget,
      Duration retention,
      @Nullable List<PackageRoutes.View> packages) {
    Isolation isolation = sandbox.isolation();
    var volume = sandbox.volume();
    var expiry = sandbox.expiry();
    var counters = sandbox.counters();
    var limits = sandbox.limits();
    return new SandboxView(
        sandbox.id().value(),
        sandbox.status().wireName(),
        sandbox.image(),
        sandbox.engine(),
        sandbox.runtime(),
        isolation == null ? null : strength(isolation),
        isolation == null ? List.of() : measures(isolation),
        Sandbox.WORKSPACE,
        sandbox.tenant(),
        sandbox.owner(),
        sandbox.namespace(),
        // No engine of this build makes containers.
        null,
        sandbox.persistent(),
        volume == null ? null : volume.name(),
        volume == null ? null : volume.id().value(),
        sandbox.createdAt().toString(),
        sandbox.lastActivityAt().toString(),
        text(sandbox.startedAt()),
        text(sandbox.stoppedAt()),
        text(sandbox.removalAt(retention).orElse(null)),
        limits.memory().mebibytes(),
        limits.cpus(),
        limits.disk().mebibytes(),
        limits.pids(),
        expiry.idleTimeout().toSeconds(),
        expiry.onIdle().wireName(),
        expiry.maxLife().toSeconds(),
        sandbox.network().opens(),
        EgressRoutes.PolicyView.of(sandbox.network()),
        sandbox.isolated(),
        sandbox.rootfs().wireName(),
        sandbox.envVars(),
        counters.execCount(),
        counters.execTotalMillis(),
        counters.bytesUploaded(),
        counters.bytesDownloaded(),
        sandbox.sessionKey(),
        sandbox.secrets(),
        sandbox.frozen(),
        sandbox.metadata(),
        SkillRoutes.InstalledView.of(skills),
        budget.map(BudgetRoutes.View::of).orElse(null),
        packages,
        FailureView.of(sandbox.failure()));
  }

  private static @Nullable String text(@Nullable Instant time) {
    return time == null ? null : time.toString();
  }

  static String strength(Isolation isolation) {
    return isolation.strength().name().toLowerCase(Locale.ROOT);
  }

  static List<Measure> measures(Isolation isolation) {
    return isolation.measures().stream()
        .map(measure -> new Measure(measure.name(), measure.applied(), measure.detail()))
        .toList();
  }

  record Measure(String name, boolean applied, String detail) {}

  record FailureView(String cause, String message, String hint) {
    static @Nullable FailureView of(@Nullable Failure failure) {
      return failure == null
          ? null
          : new FailureView(failure.cause(), failure.message(), failure.hint());
    }
  }
}
