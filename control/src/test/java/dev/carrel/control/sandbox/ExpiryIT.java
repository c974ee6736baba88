package dev.carrel.control.sandbox;

import static dev.carrel.control.ControlFixture.ALICE;
import static dev.carrel.control.ControlFixture.eventually;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.carrel.control.ControlFixture;
import dev.carrel.control.event.Event;
import dev.carrel.control.event.EventFilter;
import dev.carrel.control.event.Events;
import dev.carrel.control.exec.ExecStart;
import dev.carrel.control.exec.ExecStream;
import dev.carrel.control.exec.SignalScope;
import dev.carrel.control.files.FileEvents;
import dev.carrel.spi.Command;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** What ends by itself, what does not, and who is told. */
final class ExpiryIT {
  private static final LifeSettings USUAL = LifeSettings.defaults();

  @Test
  void whatRunsInTheBackgroundAndWhoWatchesKeepItAlive() throws Exception {
    try (var fixture = fixture(USUAL)) {
      Sandboxes sandboxes = fixture.control().sandboxes();
      CreateSandbox brief =
          CreateSandbox.defaults().withExpiry(CreateSandbox.Expiry.idle(3, OnIdle.STOP));
      Sandbox working = sandboxes.create(ALICE, brief);
      ExecStream job =
          fixture
              .control()
              .execs()
              .start(ALICE, working.id(), ExecStart.of(Command.of("sleep", "999")).inBackground());
      Sandbox watched = sandboxes.create(ALICE, brief);
      FileEvents watch = fixture.control().files().watch(ALICE, watched.id(), ".", true);
      Sandbox idle = sandboxes.create(ALICE, brief);

      eventually(() -> status(fixture, idle) == SandboxStatus.STOPPED);
      assertThat(status(fixture, working)).isEqualTo(SandboxStatus.RUNNING);
      assertThat(status(fixture, watched)).isEqualTo(SandboxStatus.RUNNING);
      fixture.control().execs().signal(ALICE, working.id(), job.id(), 9, SignalScope.TREE);
      watch.close();
      eventually(() -> status(fixture, working) == SandboxStatus.STOPPED);
      eventually(() -> status(fixture, watched) == SandboxStatus.STOPPED);
    }
  }

  @Test
  void oneThatIsStartedAgainIsNotIdleFromBefore() throws Exception {
    try (var fixture = fixture(USUAL)) {
      Sandboxes sandboxes = fixture.control().sandboxes();
      Sandbox sandbox =
          sandboxes.create(
              ALICE, CreateSandbox.defaults().withExpiry(CreateSandbox.Expiry.idle(2, null)));
      eventually(() -> status(fixture, sandbox) == SandboxStatus.STOPPED);
      Sandbox again = sandboxes.start(ALICE, sandbox.id());

      assertThat(again.lastActivityAt()).isAfterOrEqualTo(again.startedAt());
      eventually(() -> status(fixture, sandbox) == SandboxStatus.STOPPED);
      List<Transition> journal = sandboxes.journal(ALICE, sandbox.id());
      Transition started = journal.get(journal.size() - 2);
      assertThat(Duration.between(started.at(), journal.getLast().at()))
          .isGreaterThan(Duration.ofSeconds(2).minusMillis(100));
    }
  }

  @Test
  void anIdleOneIsDestroyedWhereThatIsThePolicy() throws Exception {
    try (var fixture = fixture(USUAL)) {
      Sandboxes sandboxes = fixture.control().sandboxes();
      Sandbox sandbox =
          sandboxes.create(
              ALICE,
              CreateSandbox.defaults().withExpiry(CreateSandbox.Expiry.idle(1, OnIdle.DESTROY)));
      eventually(() -> sandboxes.list(ALICE, SandboxQuery.all()).total() == 0);
      sandboxes.delete(ALICE, sandbox.id());
    }
  }

  @Test
  void aLifeThatIsOverIsAnnouncedAndStoppedAndAPatchExtendsIt() throws Exception {
    try (var fixture = fixture(USUAL)) {
      Sandboxes sandboxes = fixture.control().sandboxes();
      Events.Subscription news =
          sandboxes.events(ALICE, EventFilter.of(null).withKinds(Set.of("sandbox")), null);
      CreateSandbox mortal =
          CreateSandbox.defaults().withExpiry(new CreateSandbox.Expiry(0L, null, 4L));
      Sandbox extended = sandboxes.create(ALICE, mortal);
      sandboxes.patch(
          ALICE,
          extended.id(),
          new PatchSandbox(
              new CreateSandbox.Size(null, null, null, null),
              new CreateSandbox.Expiry(null, null, 3600L),
              CreateSandbox.Network.DEFAULT,
              null,
              null));
      Sandbox sandbox = sandboxes.create(ALICE, mortal);
      ExecStream job =
          fixture
              .control()
              .execs()
              .start(ALICE, sandbox.id(), ExecStart.of(Command.of("sleep", "999")).inBackground());

      eventually(() -> status(fixture, sandbox) == SandboxStatus.STOPPED);
      assertThat(sandboxes.get(ALICE, sandbox.id()).failure())
          .satisfies(failure -> assertThat(failure.cause()).isEqualTo("max_life"));
      assertThat(status(fixture, extended)).isEqualTo(SandboxStatus.RUNNING);
      eventually(() -> !fixture.control().execs().get(ALICE, sandbox.id(), job.id()).running());
      List<Event> told = new ArrayList<>();
      for (Event e = news.next(Duration.ZERO); e != null; e = news.next(Duration.ZERO)) {
        if (sandbox.id().equals(e.sandbox())) {
          told.add(e);
        }
      }
      assertThat(told)
          .extracting(Event::kind)
          .containsExactly(
              "sandbox.created", "sandbox.started", "sandbox.expiring", "sandbox.stopped");
      assertThat(told.get(2).details()).containsEntry("then", "stop").containsKey("at");
      // A new start is a new life.
      sandboxes.start(ALICE, sandbox.id());
      assertThat(status(fixture, sandbox)).isEqualTo(SandboxStatus.RUNNING);
    }
  }

  @Test
  void whatWasPausedBeforeItsEndIsKeptAndGoesOn() throws Exception {
    var later = new AtomicReference<>(Duration.ZERO);
    InstantSource clock = SteadyClock.system();
    try (var fixture = fixture("native", USUAL, () -> clock.instant().plus(later.get()))) {
      Sandboxes sandboxes = fixture.control().sandboxes();
      CreateSandbox brief =
          CreateSandbox.defaults()
              .withExpiry(new CreateSandbox.Expiry(0L, null, 600L, OnIdle.DESTROY));
      Sandbox held = sandboxes.create(ALICE, brief);
      Sandbox stopped = sandboxes.create(ALICE, brief);
      fixture
          .control()
          .execs()
          .run(ALICE, held.id(), ExecStart.of(Command.shell("echo here > /workspace/file")));
      sandboxes.pause(ALICE, held.id());
      sandboxes.stop(ALICE, stopped.id());
      Sandbox running = sandboxes.create(ALICE, brief);

      later.set(Duration.ofDays(3));
      eventually(() -> sandboxes.find(running.id()).isEmpty());
      // What is swept after a day is gone with it.
      Sandbox usual = fixture.sandbox();
      sandboxes.stop(ALICE, usual.id());
      later.set(Duration.ofDays(6));
      eventually(() -> sandboxes.find(usual.id()).isEmpty());

      assertThat(status(fixture, held)).isEqualTo(SandboxStatus.PAUSED);
      assertThat(status(fixture, stopped)).isEqualTo(SandboxStatus.STOPPED);
      assertThat(
              fixture
                  .control()
                  .execs()
                  .run(ALICE, held.id(), ExecStart.of(Command.of("cat", "/workspace/file")))
                  .exitCode())
          .isZero();
      // Looked into, it has its time anew.
      Sandbox witness =
          sandboxes.create(
              ALICE,
              CreateSandbox.defaults().withExpiry(CreateSandbox.Expiry.idle(1, OnIdle.DESTROY)));
      eventually(() -> sandboxes.find(witness.id()).isEmpty());
      assertThat(status(fixture, held)).isEqualTo(SandboxStatus.RUNNING);
    }
  }

  @Test
  void whatWasUnderWayWhenItWasPausedDoesNotKeepItForEver() throws Exception {
    var later = new AtomicReference<>(Duration.ZERO);
    InstantSource clock = SteadyClock.system();
    try (var fixture = fixture("native", USUAL, () -> clock.instant().plus(later.get()))) {
      Sandboxes sandboxes = fixture.control().sandboxes();
      Sandbox working =
          sandboxes.create(
              ALICE,
              CreateSandbox.defaults().withExpiry(CreateSandbox.Expiry.idle(60, OnIdle.STOP)));
      fixture
          .control()
          .execs()
          .start(ALICE, working.id(), ExecStart.of(Command.of("sleep", "999")).inBackground());
      later.set(Duration.ofDays(3));
      awaitLook(fixture);
      assertThat(status(fixture, working)).isEqualTo(SandboxStatus.RUNNING);

      // Its time begins with the pause, not with the last call.
      sandboxes.pause(ALICE, working.id());
      later.set(Duration.ofDays(3).plusHours(23));
      awaitLook(fixture);
      assertThat(status(fixture, working)).isEqualTo(SandboxStatus.PAUSED);

      later.set(Duration.ofDays(5));
      eventually(() -> status(fixture, working) == SandboxStatus.STOPPED);
    }
  }

  /** Until all that are due by now have ended. */
  private static void awaitLook(ControlFixture fixture) throws Exception {
    Sandboxes sandboxes = fixture.control().sandboxes();
    Sandbox witness =
        sandboxes.create(
            ALICE,
            CreateSandbox.defaults().withExpiry(CreateSandbox.Expiry.idle(1, OnIdle.DESTROY)));
    eventually(() -> sandboxes.find(witness.id()).isEmpty());
  }

  @Test
  void oneThatTakesItsTimeToEndKeepsNoOtherFromItsEnd() throws Exception {
    var grace = Duration.ofSeconds(8);
    try (var fixture =
        fixture("native", with(grace, false, USUAL.onShutdown()), SteadyClock.system())) {
      Sandboxes sandboxes = fixture.control().sandboxes();
      CreateSandbox brief =
          CreateSandbox.defaults().withExpiry(new CreateSandbox.Expiry(0L, null, 2L));
      var stubborn = new ArrayList<Sandbox>();
      for (int i = 0; i < 3; i++) {
        Sandbox sandbox = sandboxes.create(ALICE, brief);
        fixture
            .control()
            .execs()
            .start(
                ALICE,
                sandbox.id(),
                ExecStart.of(Command.shell("trap '' TERM; sleep 99; sleep 99")).inBackground());
        stubborn.add(sandbox);
      }
      eventually(
          () -> stubborn.stream().allMatch(s -> status(fixture, s) == SandboxStatus.STOPPED));
      List<Instant> ends =
          stubborn.stream()
              .map(s -> sandboxes.journal(ALICE, s.id()).getLast().at())
              .sorted()
              .toList();
      assertThat(Duration.between(ends.getFirst(), ends.getLast())).isLessThan(grace);
    }
  }

  @Test
  void theRemovalOfWhatHasEndedIsToldAndCanBePutOff() throws Exception {
    var later = new AtomicReference<>(Duration.ZERO);
    InstantSource clock = SteadyClock.system();
    try (var fixture = fixture("process", USUAL, () -> clock.instant().plus(later.get()))) {
      Sandboxes sandboxes = fixture.control().sandboxes();
      Sandbox left = fixture.sandbox();
      Sandbox wanted = fixture.sandbox();
      sandboxes.stop(ALICE, left.id());
      sandboxes.stop(ALICE, wanted.id());
      assertThat(sandboxes.get(ALICE, left.id()).removalAt(Duration.ofDays(1)).orElseThrow())
          .isAfter(clock.instant().plus(Duration.ofHours(23)));

      later.set(Duration.ofMinutes(23 * 60 + 30));
      eventually(() -> expiring(fixture, left).size() == 1);
      eventually(() -> expiring(fixture, wanted).size() == 1);
      assertThat(expiring(fixture, left).getFirst().details())
          .containsEntry("then", "destroy")
          .containsEntry("cause", "retention")
          .containsKey("at");
      // What was counted while it ran is written a moment later, and is not to come after this.
      assertThat(sandboxes.store().settled(wanted.id())).isPresent();
      sandboxes.patch(ALICE, wanted.id(), PatchSandbox.network(CreateSandbox.Network.DEFAULT));
      assertThat(sandboxes.get(ALICE, wanted.id()).removalAt(Duration.ofDays(1)).orElseThrow())
          .isAfter(clock.instant().plus(Duration.ofHours(47)));

      later.set(Duration.ofHours(25));
      eventually(() -> sandboxes.find(left.id()).isEmpty());
      assertThat(status(fixture, wanted)).isEqualTo(SandboxStatus.STOPPED);
      assertThat(expiring(fixture, wanted)).hasSize(1);
      later.set(Duration.ofHours(47));
      eventually(() -> expiring(fixture, wanted).size() == 2);
    }
  }

  private static List<Event> expiring(ControlFixture fixture, Sandbox sandbox) {
    return fixture
        .control()
        .sandboxes()
        .recentEvents(ALICE, EventFilter.of(null).withKinds(Set.of("sandbox")), 100)
        .stream()
        .filter(e -> e.kind().equals("sandbox.expiring") && sandbox.id().equals(e.sandbox()))
        .toList();
  }

  @Test
  void whoComesBackToItUsesIt() throws Exception {
    try (var fixture = fixture(USUAL)) {
      Sandboxes sandboxes = fixture.control().sandboxes();
      CreateSandbox keyed = CreateSandbox.defaults().withSessionKey("k");
      Sandbox sandbox = sandboxes.create(ALICE, keyed);
      RunningSandbox live = sandboxes.running(sandbox.id()).orElseThrow();

      for (Runnable comeBack :
          List.<Runnable>of(
              () -> sandboxes.create(ALICE, keyed),
              () -> sandboxes.start(ALICE, sandbox.id()),
              () ->
                  sandboxes.patch(
                      ALICE, sandbox.id(), PatchSandbox.network(CreateSandbox.Network.DEFAULT)))) {
        long uses = live.uses();
        Instant before = live.lastActivity();
        // The next millisecond, in which it is used again.
        eventually(() -> Instant.now().isAfter(before.plusMillis(2)));
        comeBack.run();
        assertThat(live.lastActivity()).isAfter(before);
        // As whoever is about to end it will see.
        assertThat(sandboxes.life().stopUnused(live, uses, Failures.asked())).isFalse();
      }
    }
  }

  @Test
  void theLongestIdleOneMakesRoomWhereThatIsAllowed() throws Exception {
    try (var fixture = fixture(with(true, LifeSettings.OnShutdown.KEEP))) {
      Sandboxes sandboxes = fixture.control().sandboxes();
      Sandbox first = fixture.sandbox();
      Sandbox second = fixture.sandbox();
      Sandbox busy = fixture.sandbox();
      ExecStream job =
          fixture
              .control()
              .execs()
              .start(ALICE, busy.id(), ExecStart.of(Command.of("sleep", "999")).inBackground());
      fixture.control().execs().run(ALICE, first.id(), ExecStart.of(Command.of("true")));

      Sandbox fourth = fixture.sandbox();
      assertThat(status(fixture, second)).isEqualTo(SandboxStatus.STOPPED);
      assertThat(sandboxes.get(ALICE, second.id()).failure())
          .satisfies(failure -> assertThat(failure.cause()).isEqualTo("evicted"));
      sandboxes.start(ALICE, second.id());
      assertThat(status(fixture, first)).isEqualTo(SandboxStatus.STOPPED);
      assertThat(status(fixture, busy)).isEqualTo(SandboxStatus.RUNNING);
      assertThat(status(fixture, fourth)).isEqualTo(SandboxStatus.RUNNING);
      fixture.control().execs().signal(ALICE, busy.id(), job.id(), 9, SignalScope.TREE);
    }
    try (var fixture = fixture(USUAL)) {
      for (int i = 0; i < 3; i++) {
        fixture.sandbox();
      }
      assertThatExceptionOfType(SandboxException.class)
          .isThrownBy(fixture::sandbox)
          .matches(e -> e.code() == ErrorCode.LIMIT_REACHED);
    }
  }

  @Test
  void oneThatWorksByItselfMakesNoRoom() throws Exception {
    try (var fixture =
        fixture("native", with(true, LifeSettings.OnShutdown.KEEP), SteadyClock.system())) {
      Sandboxes sandboxes = fixture.control().sandboxes();
      Sandbox working = fixture.sandbox();
      fixture
          .control()
          .execs()
          .run(
              ALICE,
              working.id(),
              ExecStart.of(Command.shell("nohup sh -c 'while :; do :; done' >/dev/null 2>&1 &")));
      Sandbox idle = fixture.sandbox();
      Sandbox last = fixture.sandbox();
      RunningSandbox live = sandboxes.running(working.id()).orElseThrow();
      eventually(live::works);

      fixture.sandbox();

      assertThat(status(fixture, working)).isEqualTo(SandboxStatus.RUNNING);
      assertThat(status(fixture, idle)).isEqualTo(SandboxStatus.STOPPED);
      assertThat(status(fixture, last)).isEqualTo(SandboxStatus.RUNNING);
    }
  }

  @Test
  void aServerThatEndsStopsItsSandboxesWhereThatIsThePolicy() throws Exception {
    try (var fixture = fixture(with(false, LifeSettings.OnShutdown.STOP))) {
      Sandbox sandbox = fixture.sandbox();
      fixture.control().close();
      assertThat(LifeIT.guests(sandbox.id())).isEmpty();
      fixture.reopen();
      assertThat(status(fixture, sandbox)).isEqualTo(SandboxStatus.STOPPED);
      assertThat(fixture.control().sandboxes().get(ALICE, sandbox.id()).failure())
          .satisfies(failure -> assertThat(failure.cause()).isEqualTo("shutdown"));
    }
  }

  private static SandboxStatus status(ControlFixture fixture, Sandbox sandbox) {
    return fixture.control().sandboxes().get(ALICE, sandbox.id()).status();
  }

  private static LifeSettings with(boolean evict, LifeSettings.OnShutdown onShutdown) {
    return with(Duration.ofMillis(200), evict, onShutdown);
  }

  private static LifeSettings with(
      Duration stopGrace, boolean evict, LifeSettings.OnShutdown onShutdown) {
    return new LifeSettings(
        USUAL.startTimeout(),
        stopGrace,
        USUAL.maxLife(),
        USUAL.warning(),
        evict,
        USUAL.orphanMinAge(),
        onShutdown,
        USUAL.maxVolumeMbPerTenant());
  }

  private static ControlFixture fixture(LifeSettings life) throws IOException {
    return fixture("process", life, SteadyClock.system());
  }

  private static ControlFixture fixture(String engine, LifeSettings life, InstantSource clock)
      throws IOException {
    return new ControlFixture(
        engine,
        settings ->
            settings.withSandboxes(
                settings
                    .sandboxes()
                    .withMaxSandboxes(10, 3)
                    .withWatch(Duration.ofDays(1), Duration.ofMillis(50))
                    .withLife(life)),
        plain -> plain,
        clock);
  }
}
