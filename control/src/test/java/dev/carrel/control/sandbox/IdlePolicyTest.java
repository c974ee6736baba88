package dev.carrel.control.sandbox;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.control.sandbox.IdlePolicy.Verdict;
import dev.carrel.egress.Policy;
import dev.carrel.spi.DataSize;
import dev.carrel.spi.Limits;
import dev.carrel.spi.Rootfs;
import dev.carrel.spi.SandboxId;
import dev.carrel.spi.VolumeId;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

final class IdlePolicyTest {
  private static final Instant START = Instant.parse("2026-01-01T00:00:00Z");
  private static final Duration IDLE = Duration.ofMinutes(30);
  private static final Duration FOREVER = Duration.ZERO;

  private final IdlePolicy policy = new IdlePolicy(Duration.ofDays(1), Duration.ofMinutes(1));

  @Test
  void oneThatIsUsedOrBusyIsKept() {
    Sandbox sandbox = sandbox(SandboxStatus.RUNNING, IDLE, OnIdle.STOP, FOREVER, true);
    assertThat(after(sandbox, Duration.ofMinutes(28), false)).isInstanceOf(Verdict.Keep.class);
    assertThat(after(sandbox, Duration.ofDays(300), true)).isInstanceOf(Verdict.Keep.class);
  }

  @Test
  void oneThatIsIdleEndsAsItsOwnerSaysAndIsAnnounced() {
    for (OnIdle how : OnIdle.values()) {
      Sandbox sandbox = sandbox(SandboxStatus.RUNNING, IDLE, how, FOREVER, true);
      assertThat(after(sandbox, IDLE, false))
          .isInstanceOfSatisfying(
              Verdict.End.class,
              end -> {
                assertThat(end.how()).isEqualTo(how);
                assertThat(end.why().cause()).isEqualTo("idle");
              });
      // Nothing is lost by a pause, and so nobody is warned of it.
      assertThat(after(sandbox, IDLE.minusSeconds(59), false))
          .isInstanceOf(how == OnIdle.PAUSE ? Verdict.Keep.class : Verdict.Warn.class);
    }
  }

  @Test
  void neverMeansNever() {
    Sandbox sandbox = sandbox(SandboxStatus.RUNNING, FOREVER, OnIdle.STOP, FOREVER, true);
    assertThat(after(sandbox, Duration.ofDays(3000), false)).isInstanceOf(Verdict.Keep.class);
  }

  @Test
  void aPausedOneIsKeptForLongAndThenStoppedOrGone() {
    for (boolean persistent : new boolean[] {true, false}) {
      Sandbox paused = sandbox(SandboxStatus.PAUSED, IDLE, OnIdle.PAUSE, FOREVER, persistent);
      assertThat(after(paused, Duration.ofHours(23), false)).isInstanceOf(Verdict.Keep.class);
      assertThat(after(paused, Duration.ofHours(25), false))
          .isInstanceOfSatisfying(
              Verdict.End.class,
              end -> assertThat(end.how()).isEqualTo(persistent ? OnIdle.STOP : OnIdle.DESTROY));
    }
  }

  @Test
  void aLifeEndsHoweverBusyItIs() {
    Duration life = Duration.ofHours(2);
    Sandbox sandbox = sandbox(SandboxStatus.RUNNING, FOREVER, OnIdle.PAUSE, life, true);
    assertThat(after(sandbox, life.minusMinutes(2), true)).isInstanceOf(Verdict.Keep.class);
    assertThat(after(sandbox, life.minusSeconds(30), true))
        .isInstanceOfSatisfying(
            Verdict.Warn.class, warn -> assertThat(warn.at()).isEqualTo(START.plus(life)));
    assertThat(after(sandbox, life, true))
        .isInstanceOfSatisfying(
            Verdict.End.class,
            end -> {
              assertThat(end.how()).isEqualTo(OnIdle.STOP);
              assertThat(end.why().cause()).isEqualTo("max_life");
            });
  }

  @Test
  void whatWouldBeDestroyedAtItsEndIsKeptWhileItIsPaused() {
    Duration life = Duration.ofHours(2);
    for (OnIdle then : new OnIdle[] {OnIdle.DESTROY, OnIdle.PAUSE}) {
      var expiry = new Sandbox.Expiry(FOREVER, OnIdle.STOP, life, then);
      Sandbox running =
          sandbox(SandboxStatus.RUNNING, FOREVER, OnIdle.STOP, life, true)
              .edit()
              .expiry(expiry)
              .build();
      Sandbox paused = running.edit().status(SandboxStatus.PAUSED).build();
      assertThat(after(running, life, false)).isInstanceOf(Verdict.End.class);
      assertThat(after(paused, life.plusDays(300), false)).isInstanceOf(Verdict.Keep.class);

      // One that goes on before its end has no more time for it; after it, as much as it had.
      assertThat(IdlePolicy.goingOn(paused, START.plusSeconds(10))).isEqualTo(expiry);
      Sandbox.Expiry anew = IdlePolicy.goingOn(paused, START.plus(life.plusDays(9)));
      assertThat(anew.maxLife()).isEqualTo(life.plusDays(9).plus(life));
      assertThat(anew.atEnd()).isEqualTo(then);
    }
    Sandbox mortal = sandbox(SandboxStatus.PAUSED, FOREVER, OnIdle.STOP, life, true);
    assertThat(after(mortal, life, false)).isInstanceOf(Verdict.End.class);
    assertThat(IdlePolicy.goingOn(mortal, START.plusSeconds(9999))).isEqualTo(mortal.expiry());
  }

  private Verdict after(Sandbox sandbox, Duration time, boolean busy) {
    return policy.of(sandbox, START, busy, START.plus(time));
  }

  private static Sandbox sandbox(
      SandboxStatus status, Duration idle, OnIdle onIdle, Duration life, boolean persistent) {
    return new Sandbox(
        SandboxId.random(),
        "acme",
        "alice",
        Namespace.DEFAULT,
        status,
        1,
        "host",
        "process",
        "none",
        null,
        new Limits(DataSize.ofMebibytes(512), 1, 512, DataSize.ofMebibytes(512), 1024),
        new Sandbox.Expiry(idle, onIdle, life),
        Policy.NOTHING,
        false,
        Rootfs.READ_ONLY,
        Map.of(),
        Map.of(),
        null,
        List.of(),
        null,
        persistent ? new Sandbox.Volume(VolumeId.random(), null) : null,
        START,
        START,
        START,
        null,
        Sandbox.Counters.ZERO,
        null);
  }
}
