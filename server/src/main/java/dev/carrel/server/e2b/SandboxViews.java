package dev.carrel.server.e2b;

import dev.carrel.control.access.AccessTokens;
import dev.carrel.control.sandbox.OnIdle;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.control.sandbox.SandboxStatus;
import java.time.Instant;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** Sandboxes as E2B's clients read them; names of fields are theirs. */
final class SandboxViews {
  /** What the guest can do, in the words of E2B's own agent. */
  static final String ENVD_VERSION = "0.6.13";

  /** What a sandbox's metadata says of the template that it was asked for by. */
  static final String TEMPLATE = "carrel.template";

  private static final String OURS = "carrel.";
  private static final Instant NO_END = Instant.parse("2999-12-31T00:00:00Z");

  private SandboxViews() {}

  /** What a client needs to get in. */
  record Opened(
      String sandboxID,
      String templateID,
      String clientID,
      String envdVersion,
      String envdAccessToken,
      String trafficAccessToken,
      @Nullable String domain) {
    static Opened of(Sandbox sandbox, AccessTokens tokens, String domain) {
      return new Opened(
          sandbox.id().value(),
          template(sandbox),
          "carrel",
          ENVD_VERSION,
          tokens.of(sandbox.id()),
          tokens.ofTraffic(sandbox.id()),
          domain.isEmpty() ? null : domain);
    }
  }

  /** What there is to know of one. */
  record Detail(
      String sandboxID,
      String templateID,
      String clientID,
      String alias,
      String envdVersion,
      @Nullable String envdAccessToken,
      @Nullable String domain,
      String startedAt,
      String endAt,
      String state,
      double cpuCount,
      long memoryMB,
      long diskSizeMB,
      Map<String, String> metadata,
      boolean allowInternetAccess,
      Lifecycle lifecycle) {
    static Detail of(Sandbox sandbox, @Nullable String token, String domain) {
      return new Detail(
          sandbox.id().value(),
          template(sandbox),
          "carrel",
          template(sandbox),
          ENVD_VERSION,
          token,
          domain.isEmpty() ? null : domain,
          started(sandbox).toString(),
          end(sandbox).toString(),
          isPaused(sandbox) ? "paused" : "running",
          Math.max(1, Math.ceil(sandbox.limits().cpus())),
          sandbox.limits().memory().mebibytes(),
          sandbox.limits().disk().mebibytes(),
          own(sandbox),
          sandbox.network().opens(),
          new Lifecycle(
              sandbox.expiry().atEnd() == OnIdle.PAUSE ? "pause" : "kill",
              "true".equals(sandbox.metadata().get(DataPlane.AUTO_RESUME))));
    }
  }

  /** What becomes of it when its time is over. */
  record Lifecycle(String onTimeout, boolean autoResume) {}

  /** Whether it waits for somebody to let it go on, with its memory or only with its files. */
  static boolean isPaused(Sandbox sandbox) {
    return sandbox.status() == SandboxStatus.PAUSED
        || (sandbox.status() == SandboxStatus.STOPPED && sandbox.persistent());
  }

  /** Whether clients see it at all. */
  static boolean isThere(Sandbox sandbox) {
    return sandbox.status() == SandboxStatus.RUNNING || isPaused(sandbox);
  }

  static Instant started(Sandbox sandbox) {
    return sandbox.startedAt() == null ? sandbox.createdAt() : sandbox.startedAt();
  }

  static String template(Sandbox sandbox) {
    return sandbox.metadata().getOrDefault(TEMPLATE, sandbox.image());
  }

  /** What its owner wrote. */
  static Map<String, String> own(Sandbox sandbox) {
    var own = new TreeMap<>(sandbox.metadata());
    own.keySet().removeIf(name -> name.startsWith(OURS));
    return own;
  }

  private static Instant end(Sandbox sandbox) {
    // A paused one is kept until somebody ends it.
    return sandbox.expiry().maxLife().isZero() || isPaused(sandbox)
        ? NO_END
        : started(sandbox).plus(sandbox.expiry().maxLife());
  }
}
