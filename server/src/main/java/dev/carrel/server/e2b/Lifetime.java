package dev.carrel.server.e2b;

import dev.carrel.control.sandbox.Caller;
import dev.carrel.control.sandbox.CreateSandbox;
import dev.carrel.control.sandbox.PatchSandbox;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.control.sandbox.Sandboxes;
import java.time.Duration;
import java.time.Instant;
import java.util.regex.Pattern;

/**
 * How long a sandbox has until its end, which clients count from now and control from its start.
 */
final class Lifetime {
  /** What a client has that asks for no time of its own. */
  static final long DEFAULT_SECONDS = 300;

  static final long MAX_SECONDS = Duration.ofDays(365).toSeconds();

  /** What a sandbox's metadata says of the seconds that it was made for. */
  static final String TIMEOUT = "carrel.timeout";

  private static final Pattern SECONDS = Pattern.compile("[0-9]{1,8}");

  private final Sandboxes sandboxes;

  Lifetime(Sandboxes sandboxes) {
    this.sandboxes = sandboxes;
  }

  /** What is left of it; of one without an end as much as anybody may ask for. */
  static Duration left(Sandbox sandbox) {
    Duration life = sandbox.expiry().maxLife();
    return life.isZero()
        ? Duration.ofSeconds(MAX_SECONDS)
        : Duration.between(Instant.now(), SandboxViews.started(sandbox).plus(life));
  }

  /**
   * Lets one that goes on by itself live once more for as long as it was made for. To be called
   * before it goes on: it would be found to have lived long enough.
   */
  void renew(Caller caller, Sandbox sandbox) {
    String made = sandbox.metadata().getOrDefault(TIMEOUT, "");
    long seconds = SECONDS.matcher(made).matches() ? Long.parseLong(made) : 0;
    prolong(caller, sandbox, Math.max(DEFAULT_SECONDS, seconds));
  }

  /** From now on it has so many seconds. */
  void prolong(Caller caller, Sandbox sandbox, long seconds) {
    Duration lived = Duration.between(SandboxViews.started(sandbox), Instant.now());
    long life = Math.max(0, lived.toSeconds()) + Math.max(1, seconds);
    sandboxes.patch(
        caller,
        sandbox.id(),
        new PatchSandbox(
            new CreateSandbox.Size(null, null, null, null),
            new CreateSandbox.Expiry(null, null, life, null),
            CreateSandbox.Network.DEFAULT,
            null,
            null));
  }
}
