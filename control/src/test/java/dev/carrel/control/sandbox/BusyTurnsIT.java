package dev.carrel.control.sandbox;

import static dev.carrel.control.ControlFixture.ALICE;
import static dev.carrel.control.ControlFixture.MALLORY;
import static dev.carrel.control.ControlFixture.eventually;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.carrel.control.ChangedMachines;
import dev.carrel.control.ControlFixture;
import dev.carrel.control.ControlSettings;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** What becomes of the others while somebody has the turn of one sandbox for long. */
final class BusyTurnsIT {
  @Test
  void sandboxWhoseTurnIsTakenKeepsNoOtherFromItsEnd() throws Exception {
    try (var fixture = new ControlFixture(BusyTurnsIT::quick)) {
      Sandboxes sandboxes = fixture.control().sandboxes();
      CreateSandbox brief =
          CreateSandbox.defaults().withExpiry(new CreateSandbox.Expiry(null, null, 2L));
      Sandbox busy = sandboxes.create(ALICE, brief);
      var taken = new CountDownLatch(1);
      var over = new CountDownLatch(1);
      Thread holder = Thread.ofVirtual().start(() -> hold(sandboxes, busy, taken, over));
      try {
        taken.await();
        // Long enough for the watch to be at the one that is busy.
        for (int i = 0; i < 3; i++) {
          Sandbox other = sandboxes.create(ALICE, brief);
          eventually(() -> status(sandboxes, other) == SandboxStatus.STOPPED);
        }
        assertThat(status(sandboxes, busy)).isEqualTo(SandboxStatus.RUNNING);
      } finally {
        over.countDown();
        holder.join();
      }
      eventually(() -> status(sandboxes, busy) == SandboxStatus.STOPPED);
    }
  }

  @Test
  void anEndThatIsPutOffMeanwhileDoesNotCome() throws Exception {
    try (var fixture = new ControlFixture(BusyTurnsIT::quick)) {
      Sandboxes sandboxes = fixture.control().sandboxes();
      CreateSandbox brief =
          CreateSandbox.defaults().withExpiry(new CreateSandbox.Expiry(null, null, 2L));
      Sandbox busy = sandboxes.create(ALICE, brief);
      var taken = new CountDownLatch(1);
      var over = new CountDownLatch(1);
      Thread holder =
          Thread.ofVirtual()
              .start(
                  () -> {
                    try (var _ = sandboxes.life().turn(busy.id())) {
                      hold(sandboxes, busy, taken, over);
                      sandboxes.patch(ALICE, busy.id(), longer());
                    }
                  });
      try {
        taken.await();
        // Its own end has come by then, too, and waits.
        Sandbox other = sandboxes.create(ALICE, brief);
        eventually(() -> status(sandboxes, other) == SandboxStatus.STOPPED);
      } finally {
        over.countDown();
        holder.join();
      }
      Sandbox last = sandboxes.create(ALICE, brief);
      eventually(() -> status(sandboxes, last) == SandboxStatus.STOPPED);
      assertThat(status(sandboxes, busy)).isEqualTo(SandboxStatus.RUNNING);
    }
  }

  private static PatchSandbox longer() {
    return new PatchSandbox(
        new CreateSandbox.Size(null, null, null, null),
        new CreateSandbox.Expiry(null, null, 3600L),
        CreateSandbox.Network.DEFAULT,
        null,
        null);
  }

  @Test
  void aNewOneWaitsForNoneThatIsBeingChangedToMakeRoom() throws Exception {
    try (var fixture = new ControlFixture(BusyTurnsIT::fullWithTwo)) {
      Sandboxes sandboxes = fixture.control().sandboxes();
      Sandbox busy = fixture.sandbox();
      Sandbox idle = fixture.sandbox();
      var taken = new CountDownLatch(1);
      var over = new CountDownLatch(1);
      Thread holder = Thread.ofVirtual().start(() -> hold(sandboxes, busy, taken, over));
      try {
        taken.await();
        Thread creating = Thread.ofVirtual().start(fixture::sandbox);

        assertThat(creating.join(Duration.ofSeconds(30))).as("it came to be").isTrue();
        assertThat(status(sandboxes, idle)).isEqualTo(SandboxStatus.STOPPED);
        assertThat(status(sandboxes, busy)).isEqualTo(SandboxStatus.RUNNING);
      } finally {
        over.countDown();
        holder.join();
      }
    }
  }

  @Test
  void aForkMakesNoRoomByStoppingWhatItIsForkedFrom() throws Exception {
    try (var fixture = new ControlFixture(BusyTurnsIT::fullWithTwo)) {
      Sandboxes sandboxes = fixture.control().sandboxes();
      Sandbox source = fixture.sandbox();
      Sandbox idle = fixture.sandbox();

      sandboxes.snapshots().fork(ALICE, source.id());

      assertThat(status(sandboxes, source)).isEqualTo(SandboxStatus.RUNNING);
      assertThat(status(sandboxes, idle)).isEqualTo(SandboxStatus.STOPPED);
    }
  }

  @Test
  void aTenantsChangesOfLimitsKeepOnlyItsOwnWaiting() throws Exception {
    var begun = new AtomicInteger();
    var over = new CountDownLatch(1);
    ChangedMachines.Before standing =
        (_, method) -> {
          if (method.equals("limit") && begun.incrementAndGet() <= TenantTurns.EACH) {
            over.await();
          }
        };
    try (var fixture =
            new ControlFixture(
                "process", plain -> plain, engine -> ChangedMachines.of(engine, standing));
        var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      Sandboxes sandboxes = fixture.control().sandboxes();
      Sandbox other = sandboxes.create(MALLORY, CreateSandbox.defaults());
      try {
        for (int i = 0; i <= TenantTurns.EACH; i++) {
          Sandbox sandbox = fixture.sandbox();
          threads.execute(() -> limit(sandboxes, ALICE, sandbox));
        }
        eventually(() -> begun.get() == TenantTurns.EACH);

        // This one waits for nobody: the engine says that it limits nothing.
        assertThatExceptionOfType(SandboxException.class)
            .isThrownBy(() -> limit(sandboxes, MALLORY, other))
            .matches(e -> e.code() == ErrorCode.WRONG_STATE);
        assertThat(begun).hasValue(TenantTurns.EACH + 1);
      } finally {
        over.countDown();
        sandboxes.delete(MALLORY, other.id());
      }
      eventually(() -> begun.get() == TenantTurns.EACH + 2);
    }
  }

  private static void limit(Sandboxes sandboxes, Caller caller, Sandbox sandbox) {
    sandboxes.patch(
        caller,
        sandbox.id(),
        new PatchSandbox(
            new CreateSandbox.Size(null, 0.5, null, null),
            new CreateSandbox.Expiry(null, null, null),
            CreateSandbox.Network.DEFAULT,
            null,
            null));
  }

  private static void hold(
      Sandboxes sandboxes, Sandbox sandbox, CountDownLatch taken, CountDownLatch over) {
    try (var _ = sandboxes.life().turn(sandbox.id())) {
      taken.countDown();
      over.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  private static SandboxStatus status(Sandboxes sandboxes, Sandbox sandbox) {
    return sandboxes.get(ALICE, sandbox.id()).status();
  }

  private static ControlSettings fullWithTwo(ControlSettings settings) {
    return settings.withSandboxes(
        settings
            .sandboxes()
            .withMaxSandboxes(10, 2)
            .withLife(LifeSettings.defaults().withEvictWhenFull(true)));
  }

  private static ControlSettings quick(ControlSettings settings) {
    return settings.withSandboxes(
        settings.sandboxes().withWatch(Duration.ofDays(1), Duration.ofMillis(50)));
  }
}
