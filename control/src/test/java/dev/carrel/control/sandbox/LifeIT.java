package dev.carrel.control.sandbox;

import static dev.carrel.control.ControlFixture.ALICE;
import static dev.carrel.control.ControlFixture.eventually;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.carrel.control.ControlFixture;
import dev.carrel.control.ControlSettings;
import dev.carrel.control.context.CodeResult;
import dev.carrel.control.context.Context;
import dev.carrel.control.context.ExecuteCode;
import dev.carrel.control.exec.ExecStart;
import dev.carrel.control.exec.ExecStream;
import dev.carrel.control.terminal.TerminalStart;
import dev.carrel.spi.Command;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.ExecEvent;
import dev.carrel.spi.ExecId;
import dev.carrel.spi.Language;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** From status to status, and back. */
final class LifeIT {
  private final HeldEngine held = new HeldEngine();
  private ControlFixture fixture;

  @BeforeEach
  void open() throws IOException {
    fixture = new ControlFixture("process", LifeIT::quick, held::around);
  }

  @AfterEach
  void close() throws IOException {
    held.release();
    fixture.close();
  }

  @Test
  void stoppingKeepsFilesAndStartingBringsThemBack() throws Exception {
    Sandbox sandbox = fixture.sandbox();
    run(sandbox, "echo kept > file");
    code(sandbox, "x = 41");
    ExecStream background =
        fixture
            .control()
            .execs()
            .start(ALICE, sandbox.id(), ExecStart.of(Command.of("sleep", "1000")).inBackground());

    Sandbox stopped = sandboxes().stop(ALICE, sandbox.id());
    assertThat(stopped.status()).isEqualTo(SandboxStatus.STOPPED);
    assertThat(stopped.stoppedAt()).isNotNull();
    assertThat(guests(sandbox.id())).isEmpty();
    assertThat(fixture.control().execs().get(ALICE, sandbox.id(), background.id()).exited())
        .extracting(ExecEvent.Exited::cause)
        .isIn(ExecEvent.Cause.SANDBOX_LOST, ExecEvent.Cause.SIGNALLED, ExecEvent.Cause.KILLED);
    assertThat(contexts(sandbox)).containsExactly(Context.Status.LOST);
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> run(sandbox, "true"))
        .matches(e -> e.code() == ErrorCode.WRONG_STATE)
        .matches(e -> e.hint().orElse("").contains("start it again"));
    assertThat(sandboxes().stop(ALICE, sandbox.id()).status()).isEqualTo(SandboxStatus.STOPPED);

    Sandbox again = sandboxes().start(ALICE, sandbox.id());
    assertThat(again.status()).isEqualTo(SandboxStatus.RUNNING);
    assertThat(again.failure()).isNull();
    assertThat(again.limits()).isEqualTo(sandbox.limits());
    assertThat(run(sandbox, "cat file")).isEqualTo("kept\n");
    assertThat(again.counters().execCount()).isGreaterThanOrEqualTo(2);
    CodeResult result = code(sandbox, "'x' in globals()");
    assertThat(result.hint()).contains("started anew");
    assertThat(contexts(sandbox)).containsExactly(Context.Status.IDLE);
    assertThat(sandboxes().start(ALICE, sandbox.id()).generation()).isEqualTo(again.generation());
    assertThat(sandboxes().journal(ALICE, sandbox.id()))
        .extracting(Transition::to)
        .containsExactly(
            SandboxStatus.RUNNING,
            SandboxStatus.STOPPED,
            SandboxStatus.CREATING,
            SandboxStatus.RUNNING);
  }

  @Test
  void aStoppedOneIsFoundAndStartedByTheNextServer() throws Exception {
    Sandbox sandbox = fixture.sandbox();
    run(sandbox, "echo kept > file");
    code(sandbox, "x = 41");
    sandboxes().stop(ALICE, sandbox.id());
    fixture.restart();

    assertThat(sandboxes().get(ALICE, sandbox.id()).status()).isEqualTo(SandboxStatus.STOPPED);
    assertThat(contexts(sandbox)).containsExactly(Context.Status.LOST);
    sandboxes().start(ALICE, sandbox.id());
    assertThat(run(sandbox, "cat file")).isEqualTo("kept\n");
    assertThat(code(sandbox, "1").hint()).contains("started anew");
  }

  @Test
  void aShellThatNobodyLooksAtDoesNotKeepItInUseAfterARestartEither() throws Exception {
    Sandbox sandbox = fixture.sandbox();
    var login = new TerminalStart(List.of(), Map.of(), null, TerminalStart.USUAL_SIZE, List.of());
    ExecId shell = fixture.control().terminals().open(ALICE, sandbox.id(), login).id();
    fixture.restart();

    assertThat(fixture.control().execs().get(ALICE, sandbox.id(), shell).running()).isTrue();
    assertThat(sandboxes().requireRunning(ALICE, sandbox.id()).busy()).isFalse();
  }

  @Test
  void oneThatDiedIsStartedAgainWithItsFiles() throws Exception {
    Sandbox sandbox = fixture.sandbox();
    run(sandbox, "echo kept > file");
    guests(sandbox.id()).forEach(ProcessHandle::destroyForcibly);
    eventually(() -> status(sandbox) == SandboxStatus.FAILED);

    assertThat(sandboxes().start(ALICE, sandbox.id()).status()).isEqualTo(SandboxStatus.RUNNING);
    assertThat(run(sandbox, "cat file")).isEqualTo("kept\n");
  }

  @Test
  void whatIsHeardOfAReplacedMachineChangesNothing() {
    Sandbox sandbox = fixture.sandbox();
    RunningSandbox old = sandboxes().requireRunning(ALICE, sandbox.id());
    sandboxes().stop(ALICE, sandbox.id());
    sandboxes().start(ALICE, sandbox.id());

    assertThat(old.explain(new SandboxException(ErrorCode.GUEST_LOST, "late")).code())
        .isEqualTo(ErrorCode.WRONG_STATE);
    old.countExec(Duration.ofSeconds(1));
    assertThat(status(sandbox)).isEqualTo(SandboxStatus.RUNNING);
    assertThat(sandboxes().get(ALICE, sandbox.id()).counters().execCount()).isZero();
  }

  @Test
  void aSessionKeyStartsItsStoppedSandboxOnceHoweverManyAsk() throws Exception {
    CreateSandbox keyed = CreateSandbox.defaults().withSessionKey("chat");
    Sandboxes.Obtained first = sandboxes().obtain(ALICE, keyed);
    assertThat(first.made()).isTrue();
    Sandbox sandbox = first.sandbox();
    run(sandbox, "echo kept > file");
    sandboxes().stop(ALICE, sandbox.id());

    var ids = ConcurrentHashMap.<SandboxId>newKeySet();
    var made = new AtomicInteger();
    allAtOnce(
        100,
        () -> {
          Sandboxes.Obtained obtained = sandboxes().obtain(ALICE, keyed);
          assertThat(obtained.sandbox().status()).isEqualTo(SandboxStatus.RUNNING);
          ids.add(obtained.sandbox().id());
          return obtained.made() ? made.incrementAndGet() : 0;
        });
    assertThat(ids).containsExactly(sandbox.id());
    assertThat(made).hasValue(0);
    assertThat(run(sandbox, "cat file")).isEqualTo("kept\n");
    assertThat(sandboxes().journal(ALICE, sandbox.id()))
        .filteredOn(step -> step.to() == SandboxStatus.RUNNING)
        .hasSize(2);
  }

  @Test
  void anEphemeralOneIsGoneWhenItStopsAndItsKeyIsFree() {
    CreateSandbox request =
        CreateSandbox.defaults()
            .withSessionKey("brief")
            .withStorage(CreateSandbox.Storage.EPHEMERAL);
    Sandbox sandbox = sandboxes().create(ALICE, request);
    assertThat(sandbox.persistent()).isFalse();
    assertThat(sandbox.expiry().onIdle()).isEqualTo(OnIdle.PAUSE);
    sandboxes().stop(ALICE, sandbox.id());

    for (Runnable call :
        List.<Runnable>of(
            () -> sandboxes().start(ALICE, sandbox.id()),
            () -> sandboxes().requireRunning(ALICE, sandbox.id()))) {
      assertThatExceptionOfType(SandboxException.class)
          .isThrownBy(call::run)
          .matches(e -> e.code() == ErrorCode.SANDBOX_GONE)
          .returns(
              "create a new sandbox, its files were in memory and are gone",
              e -> e.hint().orElse(""));
    }
    assertThat(sandboxes().create(ALICE, request).id()).isNotEqualTo(sandbox.id());
  }

  @Test
  void whoAsksForAKeyWhileItsEphemeralOneStopsGetsAnother() throws Exception {
    CreateSandbox request =
        CreateSandbox.defaults()
            .withSessionKey("brief")
            .withStorage(CreateSandbox.Storage.EPHEMERAL);
    Sandbox stopping = sandboxes().create(ALICE, request);
    var obtained = new CompletableFuture<Sandbox>();
    try (Turns.Turn _ = sandboxes().life().turn(stopping.id())) {
      Thread asking =
          Thread.ofPlatform()
              .start(
                  () ->
                      obtained.completeAsync(
                          () -> sandboxes().create(ALICE, request), Runnable::run));
      eventually(
          () ->
              Arrays.stream(asking.getStackTrace())
                  .anyMatch(frame -> frame.getClassName().equals(Turns.class.getName())));
      sandboxes().stop(ALICE, stopping.id());
    }

    assertThat(obtained.get(30, TimeUnit.SECONDS).id()).isNotEqualTo(stopping.id());
  }

  @Test
  void deletingTwiceSucceedsAlsoAfterARestart() {
    Sandbox sandbox = fixture.sandbox();
    sandboxes().stop(ALICE, sandbox.id());
    sandboxes().delete(ALICE, sandbox.id());
    fixture.restart();

    sandboxes().delete(ALICE, sandbox.id());
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> sandboxes().delete(ControlFixture.MALLORY, sandbox.id()))
        .matches(e -> e.code() == ErrorCode.SANDBOX_NOT_FOUND);
    assertThat(held.volumes()).isEmpty();
  }

  @Test
  void aStartThatHangsFailsAndItsLateMachineIsEnded() {
    held.holdStart();
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(fixture::sandbox)
        .withMessageContaining("not done after")
        .matches(e -> e.code() == ErrorCode.ENGINE_FAILED);
    SandboxPage page = sandboxes().list(ALICE, SandboxQuery.all());
    assertThat(page.items())
        .singleElement()
        .extracting(Sandbox::status)
        .isEqualTo(SandboxStatus.FAILED);
    SandboxId id = page.items().getFirst().id();

    held.release();
    eventually(() -> held.lateStarts() == 1 && guests(id).isEmpty());
    sandboxes().delete(ALICE, id);
    eventually(() -> sandboxes().list(ALICE, SandboxQuery.all()).total() == 0);
  }

  @Test
  void aGuestThatDoesNotListenIsKilledAtTheStop() throws Exception {
    Sandbox sandbox = fixture.sandbox();
    run(sandbox, "echo kept > file");
    for (ProcessHandle guest : guests(sandbox.id())) {
      new ProcessBuilder("kill", "-STOP", Long.toString(guest.pid())).start().waitFor();
    }
    assertThat(sandboxes().stop(ALICE, sandbox.id()).status()).isEqualTo(SandboxStatus.STOPPED);
    eventually(() -> guests(sandbox.id()).isEmpty());
    eventually(() -> startable(sandbox));
    assertThat(run(sandbox, "cat file")).isEqualTo("kept\n");
  }

  @Test
  void deletingWhileOthersStopAndStartLeavesNothing() throws Exception {
    for (int round = 0; round < 5; round++) {
      Sandbox sandbox = fixture.sandbox();
      var work = new ArrayList<Callable<Object>>();
      for (int i = 0; i < 4; i++) {
        work.add(() -> attempt(() -> sandboxes().stop(ALICE, sandbox.id())));
        work.add(() -> attempt(() -> sandboxes().start(ALICE, sandbox.id())));
      }
      work.add(
          () -> {
            sandboxes().delete(ALICE, sandbox.id());
            return true;
          });
      try (var pool = Executors.newVirtualThreadPerTaskExecutor()) {
        for (var result : pool.invokeAll(work)) {
          result.get();
        }
      }
      assertThat(guests(sandbox.id())).isEmpty();
      assertThat(held.volumes()).isEmpty();
      assertThatExceptionOfType(SandboxException.class)
          .isThrownBy(() -> sandboxes().get(ALICE, sandbox.id()))
          .matches(e -> e.code() == ErrorCode.SANDBOX_NOT_FOUND);
    }
  }

  @Test
  void aTenantsVolumesAreBounded() {
    CreateSandbox large =
        CreateSandbox.defaults().withSize(new CreateSandbox.Size(null, null, 3000L, null));
    Sandbox first = sandboxes().create(ALICE, large);
    sandboxes().stop(ALICE, first.id());
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> sandboxes().create(ALICE, large))
        .matches(e -> e.code() == ErrorCode.LIMIT_REACHED)
        .matches(e -> e.hint().orElse("").contains("volume.max-mb-per-tenant"));
    sandboxes().delete(ALICE, first.id());
    sandboxes().create(ALICE, large);
  }

  private boolean startable(Sandbox sandbox) {
    return attempt(() -> sandboxes().start(ALICE, sandbox.id()));
  }

  /** Whether it worked; being refused for the state that it is in is no failure. */
  private static boolean attempt(Runnable work) {
    try {
      work.run();
      return true;
    } catch (SandboxException e) {
      assertThat(e.code())
          .isIn(ErrorCode.WRONG_STATE, ErrorCode.SANDBOX_NOT_FOUND, ErrorCode.SANDBOX_GONE);
      return false;
    }
  }

  private Sandboxes sandboxes() {
    return fixture.control().sandboxes();
  }

  private SandboxStatus status(Sandbox sandbox) {
    return sandboxes().get(ALICE, sandbox.id()).status();
  }

  private List<Context.Status> contexts(Sandbox sandbox) {
    return fixture.control().contexts().list(ALICE, sandbox.id()).stream()
        .map(Context::status)
        .toList();
  }

  private String run(Sandbox sandbox, String line) {
    try {
      return fixture
          .control()
          .execs()
          .run(ALICE, sandbox.id(), ExecStart.of(Command.shell(line)))
          .stdout()
          .text();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  private CodeResult code(Sandbox sandbox, String code) throws InterruptedException {
    return fixture
        .control()
        .contexts()
        .execute(
            ALICE,
            sandbox.id(),
            new ExecuteCode(code, Language.PYTHON, null, Duration.ofMinutes(1)));
  }

  @Test
  void oneThatWasStartedAgainIsNotRemovedForHavingEndedLongAgo() {
    Sandbox sandbox = fixture.sandbox();
    Sandbox stopped = sandboxes().stop(ALICE, sandbox.id());
    sandboxes().start(ALICE, sandbox.id());

    sandboxes().life().removeEnded(stopped);
    assertThat(sandboxes().get(ALICE, sandbox.id()).status()).isEqualTo(SandboxStatus.RUNNING);

    sandboxes().life().removeEnded(sandboxes().stop(ALICE, sandbox.id()));
    assertThat(sandboxes().list(ALICE, SandboxQuery.all()).items()).isEmpty();
  }

  @Test
  void oneThatWasChangedSinceItWasFoundToBeDueIsNotRemoved() {
    Sandbox sandbox = fixture.sandbox();
    Sandbox stopped = sandboxes().stop(ALICE, sandbox.id());
    sandboxes().patch(ALICE, sandbox.id(), PatchSandbox.network(CreateSandbox.Network.DEFAULT));

    sandboxes().life().removeEnded(stopped);
    assertThat(sandboxes().get(ALICE, sandbox.id()).status()).isEqualTo(SandboxStatus.STOPPED);
  }

  @Test
  void whatIsNotWantedByItsMakerIsLeftToWhoHasItByItsKey() {
    CreateSandbox keyed = CreateSandbox.defaults().withSessionKey("shared");
    Sandbox shared = sandboxes().create(ALICE, keyed);
    Sandbox alone = sandboxes().create(ALICE, CreateSandbox.defaults().withSessionKey("alone"));
    assertThat(sandboxes().create(ALICE, keyed).id()).isEqualTo(shared.id());

    sandboxes().deleteUnlessShared(ALICE, shared.id());
    sandboxes().deleteUnlessShared(ALICE, alone.id());

    assertThat(sandboxes().list(ALICE, SandboxQuery.all()).items())
        .extracting(Sandbox::id)
        .containsExactly(shared.id());
  }

  @Test
  void whoWaitedForItsStartHasItToo() throws Exception {
    CreateSandbox keyed = CreateSandbox.defaults().withSessionKey("shared");
    held.holdStart();
    try (var pool = Executors.newVirtualThreadPerTaskExecutor()) {
      Future<Sandbox> maker = pool.submit(() -> sandboxes().create(ALICE, keyed));
      eventually(() -> sandboxes().list(ALICE, SandboxQuery.all()).total() == 1);
      Future<Sandbox> other = pool.submit(() -> sandboxes().create(ALICE, keyed));
      assertThatExceptionOfType(TimeoutException.class)
          .isThrownBy(() -> other.get(500, TimeUnit.MILLISECONDS));
      held.release();
      assertThat(other.get().id()).isEqualTo(maker.get().id());

      assertThat(sandboxes().deleteUnlessShared(ALICE, maker.get().id())).isFalse();
      assertThat(sandboxes().get(ALICE, other.get().id()).status())
          .isEqualTo(SandboxStatus.RUNNING);
    }
  }

  @Test
  void whatOthersHaveStaysTheirsWhenItsMachineEnds() {
    CreateSandbox keyed = CreateSandbox.defaults().withSessionKey("shared");
    Sandbox made = sandboxes().create(ALICE, keyed);
    sandboxes().create(ALICE, keyed);
    sandboxes().stop(ALICE, made.id());
    assertThat(sandboxes().deleteUnlessShared(ALICE, made.id())).isFalse();
    sandboxes().start(ALICE, made.id());
    assertThat(sandboxes().deleteUnlessShared(ALICE, made.id())).isFalse();

    CreateSandbox looked = CreateSandbox.defaults().withSessionKey("looked for");
    Sandbox found = sandboxes().create(ALICE, looked);
    assertThat(sandboxes().findByKey(ALICE, "looked for")).isPresent();
    assertThat(sandboxes().deleteUnlessShared(ALICE, found.id())).isFalse();
  }

  static List<ProcessHandle> guests(SandboxId id) {
    return ProcessHandle.allProcesses()
        .filter(process -> process.info().commandLine().orElse("").contains(id.value()))
        .toList();
  }

  private static void allAtOnce(int count, Callable<?> work) throws Exception {
    var start = new CountDownLatch(1);
    try (var pool = Executors.newVirtualThreadPerTaskExecutor()) {
      var results = new ArrayList<java.util.concurrent.Future<Object>>();
      for (int i = 0; i < count; i++) {
        results.add(
            pool.submit(
                () -> {
                  start.await();
                  return work.call();
                }));
      }
      start.countDown();
      for (var result : results) {
        result.get();
      }
    }
  }

  private static ControlSettings quick(ControlSettings settings) {
    LifeSettings usual = LifeSettings.defaults();
    // Its tests count what there is.
    PoolSettings none = PoolSettings.defaults().withAhead(0);
    return settings
        .withPools(none)
        .withSandboxes(
            settings
                .sandboxes()
                .withWatch(Duration.ofDays(1), Duration.ofMillis(50))
                .withLife(
                    new LifeSettings(
                        Duration.ofSeconds(5),
                        Duration.ofMillis(500),
                        usual.maxLife(),
                        usual.warning(),
                        false,
                        usual.orphanMinAge(),
                        usual.onShutdown(),
                        5000)));
  }

  @Test
  void aBusySandboxKeepsNoOtherFromAChangeOfTheNetwork() throws Exception {
    Sandbox one = fixture.sandbox();
    Sandbox two = fixture.sandbox();
    for (Sandbox busy : List.of(one, two)) {
      var held = new CountDownLatch(1);
      var asked = new CountDownLatch(2);
      try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
        Future<Boolean> holder =
            threads.submit(
                () -> {
                  try (var _ = sandboxes().life().turn(busy.id())) {
                    held.countDown();
                    return asked.await(20, TimeUnit.SECONDS);
                  }
                });
        held.await();
        sandboxes()
            .networkChanged(
                row -> {
                  asked.countDown();
                  return true;
                });
        assertThat(holder.get()).as("the others came while it was busy").isTrue();
      }
    }
  }
}
