package dev.carrel.control.sandbox;

import static dev.carrel.control.ControlFixture.ALICE;
import static dev.carrel.control.ControlFixture.MALLORY;
import static dev.carrel.control.ControlFixture.eventually;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.carrel.control.Control;
import dev.carrel.control.ControlFixture;
import dev.carrel.control.ControlSettings;
import dev.carrel.control.context.ExecuteCode;
import dev.carrel.control.exec.ExecStart;
import dev.carrel.guest.ExecInfo;
import dev.carrel.spi.Command;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.Language;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

final class WarmPoolsIT {
  @Test
  void boxBecomesTheSandboxOfWhoeverComes() throws Exception {
    try (var fixture = new ControlFixture(pool(2, 4, Language.PYTHON))) {
      Control control = fixture.control();
      awaitIdle(control, 2);
      Set<SandboxId> waiting = machines(fixture);

      Sandbox sandbox =
          control
              .sandboxes()
              .create(
                  ALICE,
                  CreateSandbox.defaults()
                      .withEnvVars(Map.of("GREETING", "it's $(warm)\n"))
                      .withSessionKey("k"));

      assertThat(waiting).contains(sandbox.id());
      assertThat(sandbox.tenant()).isEqualTo("acme");
      assertThat(status(control).hits()).isEqualTo(1);
      assertThat(control.telemetry().snapshot()).doesNotContainKey("kernels_warm");
      var result =
          control
              .contexts()
              .execute(
                  ALICE,
                  sandbox.id(),
                  ExecuteCode.of(
                      Language.PYTHON,
                      "import os; assert os.environ['GREETING'] == \"it's $(warm)\\n\""));
      assertThat(result.success()).isTrue();
      assertThat(control.telemetry().snapshot()).containsKey("kernels_warm");
      var shell = Command.shell("printf %s \"$GREETING\"");
      assertThat(control.execs().run(ALICE, sandbox.id(), ExecStart.of(shell)).stdout().text())
          .isEqualTo("it's $(warm)\n");
      assertThat(
              control.sandboxes().create(ALICE, CreateSandbox.defaults().withSessionKey("k")).id())
          .isEqualTo(sandbox.id());
    }
  }

  @Test
  void emptyPoolMeansAColdStartAndMoreBoxesAfterwards() throws Exception {
    try (var fixture = new ControlFixture(pool(0, 4))) {
      Control control = fixture.control();

      Sandbox cold = fixture.sandbox();

      assertThat(cold.status()).isEqualTo(SandboxStatus.RUNNING);
      assertThat(status(control).misses()).isEqualTo(1);
      awaitIdle(control, 1);
      fixture.sandbox();
      assertThat(status(control).hits()).isEqualTo(1);
    }
  }

  @Test
  void eachBoxHasOneOwnerHoweverManyComeAtOnce() throws Exception {
    try (var fixture = new ControlFixture(pool(5, 5))) {
      Control control = fixture.control();
      awaitIdle(control, 5);
      var made = new ArrayList<Future<Sandbox>>();

      try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
        for (int i = 0; i < 20; i++) {
          Caller caller = i % 2 == 0 ? ALICE : MALLORY;
          made.add(
              threads.submit(() -> control.sandboxes().create(caller, CreateSandbox.defaults())));
        }
      }

      var ids = new ArrayList<SandboxId>();
      for (Future<Sandbox> one : made) {
        ids.add(one.get().id());
      }
      assertThat(ids).doesNotHaveDuplicates();
      assertThat(status(control).hits() + status(control).misses()).isEqualTo(20);
      assertThat(status(control).hits()).isGreaterThanOrEqualTo(5);
      for (Future<Sandbox> one : made) {
        if (one.get().tenant().equals(MALLORY.tenant())) {
          control.sandboxes().delete(MALLORY, one.get().id());
        }
      }
    }
  }

  @Test
  void deadBoxIsNeverHandedOut() throws Exception {
    try (var fixture = new ControlFixture(pool(1, 1))) {
      Control control = fixture.control();
      awaitIdle(control, 1);
      SandboxId box = machines(fixture).iterator().next();
      ProcessHandle dead = killGuest(fixture.run().resolve(box.value()));

      Sandbox sandbox = fixture.sandbox();

      assertThat(guest(fixture.run().resolve(sandbox.id().value()))).isNotEqualTo(dead);
      assertThat(
              control.execs().run(ALICE, sandbox.id(), ExecStart.of(Command.of("true"))).exitCode())
          .isZero();
    }
  }

  @Test
  void requestThatMakesNoSenseTakesNoBox() throws Exception {
    try (var fixture = new ControlFixture(pool(1, 1))) {
      Control control = fixture.control();
      awaitIdle(control, 1);
      Set<SandboxId> before = machines(fixture);
      CreateSandbox wrong = CreateSandbox.defaults().withEnvVars(Map.of("NO=NAME", "x"));

      assertThatThrownBy(() -> control.sandboxes().create(ALICE, wrong))
          .isInstanceOf(SandboxException.class);

      assertThat(status(control).idle()).isEqualTo(1);
      assertThat(machines(fixture)).isEqualTo(before);
    }
  }

  @Test
  void refusedCreateGivesItsBoxBack() throws Exception {
    try (var fixture = new ControlFixture(WarmPoolsIT::poolOfWhoMayHaveOne)) {
      Control control = fixture.control();
      fixture.sandbox();

      // While a box is out the pool may begin another: then it has one too many for a moment.
      eventually(
          () -> {
            Set<SandboxId> before = known(fixture);
            long hits = status(control).hits();
            assertThatThrownBy(fixture::sandbox).hasMessageContaining("the most it may have");
            PoolStatus after = status(control);
            return after.hits() > hits && after.idle() == 1 && known(fixture).equals(before);
          });
    }
  }

  @Test
  void anOldBoxIsReplacedHoweverOftenOthersAreTaken() throws Exception {
    try (var fixture = new ControlFixture(pool(Duration.ofMillis(500)))) {
      Control control = fixture.control();
      // Looked for until one is seen: it does not live for long.
      var boxes = new HashSet<SandboxId>();
      eventually(() -> boxes.addAll(known(fixture)));
      SandboxId box = boxes.iterator().next();

      eventually(
          () -> {
            control.sandboxes().pools().enable(true); // wakes the pool as a claim does
            return !Files.exists(fixture.run().resolve(box.value()));
          });
    }
  }

  @Test
  void aBoxThatWasClaimedWhileTheDefaultsChangedDoesNotComeBack() throws Exception {
    try (var fixture = new ControlFixture(WarmPoolsIT::poolOfWhoMayHaveOne)) {
      Control control = fixture.control();

      SandboxId claimed = refused(fixture, () -> control.sandboxes().pools().renew());

      eventually(() -> !Files.exists(fixture.run().resolve(claimed.value())));
    }
  }

  @Test
  void aBoxThatSomethingWasNotedOfDoesNotComeBack() throws Exception {
    try (var fixture = new ControlFixture(WarmPoolsIT::poolOfWhoMayHaveOne)) {
      var undone = new AtomicBoolean();

      SandboxId claimed = refused(fixture, () -> {}, () -> undone.set(true));

      assertThat(undone).isTrue();
      eventually(() -> !Files.exists(fixture.run().resolve(claimed.value())));
    }
  }

  @Test
  void whoBringsABudgetAndMayHaveNoMoreTakesNoBox() throws Exception {
    try (var fixture = new ControlFixture(WarmPoolsIT::poolOfWhoMayHaveOne)) {
      assertTakesNoBox(fixture);
    }
  }

  @Test
  void whoBringsABudgetAndHasNoRoomForFilesTakesNoBox() throws Exception {
    try (var fixture = new ControlFixture(WarmPoolsIT::poolOfWhoMayHaveFilesOfOne)) {
      assertTakesNoBox(fixture);
    }
  }

  private static void assertTakesNoBox(ControlFixture fixture) throws IOException {
    Control control = fixture.control();
    fixture.sandbox();
    awaitIdle(control, 1);
    Set<SandboxId> before = machines(fixture);
    long hits = status(control).hits();
    var noted = new AtomicBoolean();

    assertThatThrownBy(
            () ->
                control
                    .sandboxes()
                    .obtain(
                        ALICE,
                        CreateSandbox.defaults(),
                        _ -> {
                          noted.set(true);
                          return () -> noted.set(false);
                        }))
        .isInstanceOfSatisfying(
            SandboxException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.LIMIT_REACHED));

    assertThat(noted).isFalse();
    assertThat(status(control).hits()).isEqualTo(hits);
    assertThat(machines(fixture)).isEqualTo(before);
  }

  @Test
  void whoBringsABudgetHasABoxWhereAnotherMakesRoom() throws Exception {
    try (var fixture = new ControlFixture(WarmPoolsIT::poolOfWhoMayHaveOneAndEvicts)) {
      Control control = fixture.control();
      fixture.sandbox();
      awaitIdle(control, 1);
      long hits = status(control).hits();

      control.sandboxes().obtain(ALICE, CreateSandbox.defaults(), _ -> () -> {});

      assertThat(status(control).hits()).isEqualTo(hits + 1);
    }
  }

  @Test
  void whoseKeyHasASandboxTakesNoBox() throws Exception {
    try (var fixture = new ControlFixture(pool(1, 1))) {
      Control control = fixture.control();
      CreateSandbox keyed = CreateSandbox.defaults().withSessionKey("k");
      Sandbox first = control.sandboxes().create(ALICE, keyed);
      awaitIdle(control, 1);
      long hits = status(control).hits();

      assertThat(control.sandboxes().create(ALICE, keyed).id()).isEqualTo(first.id());

      assertThat(status(control).hits()).isEqualTo(hits);
    }
  }

  private static SandboxId refused(ControlFixture fixture, Runnable meanwhile) {
    return refused(fixture, meanwhile, Sandboxes.NOTHING_NOTED);
  }

  /** Which box somebody had claimed whose only place was taken in the meantime. */
  private static SandboxId refused(ControlFixture fixture, Runnable meanwhile, Runnable undo) {
    awaitIdle(fixture.control(), 1);
    Set<SandboxId> boxes = known(fixture);
    var claimed = new AtomicReference<SandboxId>();
    assertThatThrownBy(
            () ->
                fixture
                    .control()
                    .sandboxes()
                    .obtain(
                        ALICE,
                        CreateSandbox.defaults(),
                        id -> {
                          claimed.set(id);
                          fixture.sandbox();
                          meanwhile.run();
                          return undo;
                        }))
        .hasMessageContaining("the most it may have");
    assertThat(boxes).contains(claimed.get());
    return claimed.get();
  }

  @Test
  void anInterpreterThatNobodyUsedIsNobodysCommandAfterARestart() throws Exception {
    try (var fixture = new ControlFixture(pool(1, 1, Language.PYTHON))) {
      awaitIdle(fixture.control(), 1);
      Sandbox sandbox = fixture.sandbox();
      assertThat(status(fixture.control()).hits()).isEqualTo(1);

      Control next = fixture.restart();

      assertThat(next.execs().list(ALICE, sandbox.id())).isEmpty();
      RunningSandbox live = next.sandboxes().requireRunning(ALICE, sandbox.id());
      assertThat(live.busy()).isFalse();
      eventually(() -> live.guest().list().stream().noneMatch(ExecInfo::running));
    }
  }

  @Test
  void aPathOfTheOwnersOwnLeadsToItsInterpreter() throws Exception {
    try (var fixture = new ControlFixture(pool(1, 1, Language.PYTHON))) {
      Control control = fixture.control();
      awaitIdle(control, 1);
      var elsewhere = CreateSandbox.defaults().withEnvVars(Map.of("PATH", "/nonexistent"));
      SandboxId warm = control.sandboxes().create(ALICE, elsewhere).id();
      assertThat(status(control).hits()).isEqualTo(1);

      assertThatThrownBy(
              () -> control.contexts().execute(ALICE, warm, ExecuteCode.of(Language.PYTHON, "1")))
          .isInstanceOf(SandboxException.class);
    }
  }

  @Test
  void whereLimitsCannotChangeWhoWantsOthersTakesNoBoxForNothing() throws Exception {
    try (var fixture = new ControlFixture(pool(2, 2))) {
      Control control = fixture.control();
      var small = CreateSandbox.defaults().withSize(new CreateSandbox.Size(99L, null, null, null));
      awaitIdle(control, 2);
      control.sandboxes().create(ALICE, small);
      awaitIdle(control, 2);
      long hits = status(control).hits();

      control.sandboxes().create(ALICE, small);

      assertThat(status(control).hits()).isEqualTo(hits);
      fixture.sandbox();
      assertThat(status(control).hits()).isEqualTo(hits + 1);
    }
  }

  @Test
  void boxesComeByThemselvesWithASeriesAndGoAfterIt() throws Exception {
    try (var fixture =
        new ControlFixture(settings -> settings.withPools(PoolSettings.defaults()))) {
      Control control = fixture.control();
      Sandbox first = fixture.sandbox();
      assertThat(status(control).target()).as("after one alone").isZero();

      eventually(
          () -> {
            control.sandboxes().delete(ALICE, fixture.sandbox().id());
            return status(control).hits() > 2;
          });

      // Of a box that is still to be made there may be nothing to be seen yet.
      eventually(
          () ->
              status(control).target() == 0
                  && status(control).idle() == 0
                  && known(fixture).equals(Set.of(first.id())));
    }
  }

  @Test
  void boxesEndWithTheServerAndThoseOfAKilledOneAtTheNextStart() throws Exception {
    try (var fixture = new ControlFixture(pool(2, 2))) {
      awaitIdle(fixture.control(), 2);
      Sandbox mine = fixture.sandbox();
      awaitIdle(fixture.control(), 2);
      fixture.control().close();
      assertThat(machines(fixture)).containsExactly(mine.id());
      Control next = fixture.reopen();
      assertThat(next.sandboxes().get(ALICE, mine.id()).status()).isEqualTo(SandboxStatus.RUNNING);
    }
  }

  private static ControlSettings poolOfWhoMayHaveOne(ControlSettings settings) {
    return pool(1, 1).apply(settings.withSandboxes(settings.sandboxes().withMaxSandboxes(10, 1)));
  }

  private static ControlSettings poolOfWhoMayHaveOneAndEvicts(ControlSettings settings) {
    ControlSettings one = poolOfWhoMayHaveOne(settings);
    return one.withSandboxes(
        one.sandboxes().withLife(one.sandboxes().life().withEvictWhenFull(true)));
  }

  private static ControlSettings poolOfWhoMayHaveFilesOfOne(ControlSettings settings) {
    SandboxSettings sandboxes = settings.sandboxes();
    LifeSettings usual = sandboxes.life();
    var tight =
        new LifeSettings(
            usual.startTimeout(),
            usual.stopGrace(),
            usual.maxLife(),
            usual.warning(),
            usual.evictWhenFull(),
            usual.orphanMinAge(),
            usual.onShutdown(),
            2 * sandboxes.diskMb() - 1);
    return pool(1, 1).apply(settings.withSandboxes(sandboxes.withLife(tight)));
  }

  private static UnaryOperator<ControlSettings> pool(int min, int max, Language... languages) {
    return pool(
        new PoolSettings.Pool("host", null, min, max, Set.of(languages)),
        Duration.ofHours(1),
        Duration.ofMillis(100));
  }

  private static UnaryOperator<ControlSettings> pool(Duration maxAge) {
    return pool(new PoolSettings.Pool("host", null, 1, 1, Set.of()), maxAge, Duration.ofSeconds(2));
  }

  private static UnaryOperator<ControlSettings> pool(
      PoolSettings.Pool pool, Duration maxAge, Duration interval) {
    return settings -> settings.withPools(new PoolSettings(List.of(pool), 0, maxAge, interval));
  }

  private static void awaitIdle(Control control, int count) {
    eventually(() -> status(control).idle() >= count);
  }

  private static PoolStatus status(Control control) {
    return control.sandboxes().pools().status().getFirst();
  }

  private static Set<SandboxId> known(ControlFixture fixture) {
    try {
      return machines(fixture);
    } catch (IOException | UncheckedIOException e) {
      return Set.of(); // one went while we looked
    }
  }

  private static Set<SandboxId> machines(ControlFixture fixture) throws IOException {
    try (Stream<Path> files = Files.walk(fixture.run(), 2)) {
      return files
          .map(file -> String.valueOf(file.getFileName()))
          .filter(name -> name.matches("sb[a-z2-7]{14}"))
          .map(SandboxId::new)
          .collect(Collectors.toSet());
    }
  }

  private static ProcessHandle killGuest(Path folder) throws IOException {
    ProcessHandle guest = guest(folder);
    guest.destroyForcibly();
    eventually(() -> !guest.isAlive());
    return guest;
  }

  private static ProcessHandle guest(Path folder) throws IOException {
    var state = new Properties();
    try (var text = Files.newInputStream(folder.resolve("process.properties"))) {
      state.load(text);
    }
    long pid = Long.parseLong(String.valueOf(state.getProperty("pid")));
    return ProcessHandle.of(pid).orElseThrow();
  }
}
