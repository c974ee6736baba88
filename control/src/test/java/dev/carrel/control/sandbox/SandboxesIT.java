package dev.carrel.control.sandbox;

import static dev.carrel.control.ControlFixture.ALICE;
import static dev.carrel.control.ControlFixture.MALLORY;
import static dev.carrel.control.ControlFixture.eventually;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.carrel.control.Control;
import dev.carrel.control.ControlFixture;
import dev.carrel.control.ControlSettings;
import dev.carrel.control.exec.ExecStart;
import dev.carrel.egress.Policy;
import dev.carrel.spi.Command;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.Isolation;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

final class SandboxesIT {
  private static final Caller ADMIN = new Caller("ops", "root", Caller.Role.ADMIN);

  private ControlFixture fixture;
  private Sandboxes sandboxes;

  @BeforeEach
  void open() throws IOException {
    fixture = new ControlFixture(SandboxesIT::small);
    sandboxes = fixture.control().sandboxes();
  }

  @AfterEach
  void close() throws IOException {
    fixture.close();
  }

  @Test
  void aSandboxHasTheDefaultsAndSaysWhatItIs() {
    Sandbox sandbox = fixture.sandbox();

    assertThat(sandbox.status()).isEqualTo(SandboxStatus.RUNNING);
    assertThat(sandbox.image()).isEqualTo("host");
    assertThat(sandbox.engine()).isEqualTo("process");
    assertThat(sandbox.isolation())
        .satisfies(i -> assertThat(i.strength()).isEqualTo(Isolation.Strength.NONE));
    assertThat(sandbox.limits().memory().mebibytes()).isEqualTo(512);
    assertThat(sandbox.limits().pids()).isEqualTo(512);
    assertThat(sandbox.expiry().idleTimeout()).isEqualTo(Duration.ofMinutes(30));
    assertThat(sandboxes.get(ALICE, sandbox.id())).isEqualTo(sandbox);
  }

  @Test
  void oneSessionKeyIsOneSandboxHoweverManyAsk() throws Exception {
    var ids = ConcurrentHashMap.<SandboxId>newKeySet();
    allAtOnce(
        100,
        () ->
            ids.add(sandboxes.create(ALICE, CreateSandbox.defaults().withSessionKey("chat")).id()));

    assertThat(ids).hasSize(1);
    assertThat(sandboxes.list(ALICE, SandboxQuery.all()).total()).isEqualTo(1);
    // Another tenant's key is another key; a deleted sandbox frees its own.
    Sandbox foreign = sandboxes.create(MALLORY, CreateSandbox.defaults().withSessionKey("chat"));
    assertThat(ids).doesNotContain(foreign.id());
    sandboxes.delete(MALLORY, foreign.id());
    SandboxId first = ids.iterator().next();
    sandboxes.delete(ALICE, first);
    assertThat(sandboxes.create(ALICE, CreateSandbox.defaults().withSessionKey("chat")).id())
        .isNotEqualTo(first);
  }

  @Test
  void theLimitHoldsWhenManyAskAtOnce() throws Exception {
    var refused = new AtomicInteger();
    var hints = ConcurrentHashMap.<String>newKeySet();
    allAtOnce(
        20,
        () -> {
          try {
            fixture.sandbox();
          } catch (SandboxException e) {
            assertThat(e.code()).isEqualTo(ErrorCode.LIMIT_REACHED);
            hints.add(e.hint().orElse(""));
            refused.incrementAndGet();
          }
          return true;
        });

    assertThat(refused).hasValue(17);
    assertThat(hints).allMatch(hint -> hint.contains("sandbox.max-count-per-tenant"));
    assertThat(sandboxes.list(ALICE, SandboxQuery.all()).total()).isEqualTo(3);
    Sandbox one = sandboxes.list(ALICE, SandboxQuery.all()).items().getFirst();
    sandboxes.delete(ALICE, one.id());
    fixture.sandbox();
  }

  @Test
  void aFailedStartStaysListedAndCountsForNothing() {
    CreateSandbox broken = CreateSandbox.defaults().withImage("folder");
    for (int i = 0; i < 5; i++) {
      assertThatExceptionOfType(SandboxException.class)
          .isThrownBy(() -> sandboxes.create(ALICE, broken))
          .matches(e -> e.code() == ErrorCode.ENGINE_FAILED);
    }
    SandboxPage page = sandboxes.list(ALICE, SandboxQuery.all());
    assertThat(page.statusCounts()).containsEntry(SandboxStatus.FAILED, 5L);
    assertThat(page.items())
        .allSatisfy(
            failed -> {
              Failure failure = Objects.requireNonNull(failed.failure());
              assertThat(failure.cause()).isEqualTo("start_failed");
              assertThat(failure.hint()).isNotBlank();
            });
    assertThat(fixture.sandbox().status()).isEqualTo(SandboxStatus.RUNNING);
  }

  @Test
  void deleteSucceedsTwiceAndOfAnyStatusAndOnlyForTheOwner() throws Exception {
    Sandbox running = fixture.sandbox();
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> sandboxes.delete(MALLORY, running.id()))
        .matches(e -> e.code() == ErrorCode.SANDBOX_NOT_FOUND);
    allAtOnce(
        10,
        () -> {
          sandboxes.delete(ALICE, running.id());
          return true;
        });
    sandboxes.delete(ALICE, running.id());
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> sandboxes.get(ALICE, running.id()))
        .matches(e -> e.code() == ErrorCode.SANDBOX_NOT_FOUND);
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> sandboxes.delete(ALICE, SandboxId.random()))
        .matches(e -> e.code() == ErrorCode.SANDBOX_NOT_FOUND);
    assertThat(guests(running.id())).isEmpty();

    Sandbox dead = fixture.sandbox();
    kill(dead.id());
    sandboxes.delete(ALICE, dead.id());
    assertThat(sandboxes.list(ALICE, SandboxQuery.all()).total()).isZero();
  }

  @Test
  void deletingWhileStartingLeavesNothing() throws Exception {
    for (int round = 0; round < 5; round++) {
      var starter =
          Thread.ofVirtual()
              .start(
                  () -> {
                    try {
                      fixture.sandbox();
                    } catch (SandboxException e) {
                      assertThat(e.code()).isEqualTo(ErrorCode.SANDBOX_GONE);
                    }
                  });
      eventually(() -> !sandboxes.list(ALICE, SandboxQuery.all()).items().isEmpty());
      SandboxId id = sandboxes.list(ALICE, SandboxQuery.all()).items().getFirst().id();
      sandboxes.delete(ALICE, id);
      starter.join();
      assertThat(guests(id)).isEmpty();
      assertThat(sandboxes.list(ALICE, SandboxQuery.all()).total()).isZero();
    }
  }

  @Test
  void aDeadMachineIsNoticedAndItsCallsAreTold() throws Exception {
    Sandbox sandbox = fixture.sandbox();
    kill(sandbox.id());
    eventually(() -> sandboxes.get(ALICE, sandbox.id()).status() == SandboxStatus.FAILED);

    assertThat(sandboxes.get(ALICE, sandbox.id()).failure()).isNotNull();
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(
            () ->
                fixture
                    .control()
                    .execs()
                    .run(ALICE, sandbox.id(), ExecStart.of(Command.of("true"))))
        .matches(e -> e.code() == ErrorCode.SANDBOX_GONE)
        .matches(e -> e.hint().orElse("").contains("start it again"));
  }

  @Test
  void anIdleSandboxIsStoppedAndAUsedOneIsNot() throws Exception {
    CreateSandbox brief =
        CreateSandbox.defaults().withExpiry(CreateSandbox.Expiry.idle(3, OnIdle.STOP));
    Sandbox idle = sandboxes.create(ALICE, brief);
    Sandbox busy = sandboxes.create(ALICE, brief);
    Thread user =
        Thread.ofVirtual()
            .start(
                () -> {
                  try {
                    fixture
                        .control()
                        .execs()
                        .run(ALICE, busy.id(), ExecStart.of(Command.of("sleep", "1000")));
                  } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                  }
                });
    eventually(() -> sandboxes.get(ALICE, idle.id()).status() == SandboxStatus.STOPPED);
    assertThat(sandboxes.get(ALICE, idle.id()).failure())
        .satisfies(failure -> assertThat(failure.cause()).isEqualTo("idle"));
    assertThat(sandboxes.get(ALICE, busy.id()).status()).isEqualTo(SandboxStatus.RUNNING);
    user.interrupt();
    user.join();
  }

  @Test
  void patchChangesWhatItMayAndRefusesTheRest() {
    Sandbox sandbox = fixture.sandbox();
    Sandbox patched =
        sandboxes.patch(
            ALICE,
            sandbox.id(),
            new PatchSandbox(
                new CreateSandbox.Size(512L, null, null, null),
                CreateSandbox.Expiry.idle(60, null),
                CreateSandbox.Network.DEFAULT,
                null,
                Map.of("k", "v")));
    assertThat(patched.expiry().idleTimeout()).isEqualTo(Duration.ofMinutes(1));
    assertThat(patched.metadata()).containsEntry("k", "v");

    for (PatchSandbox refused :
        List.of(
            resized(1024L, null, null),
            resized(null, 2.0, null),
            resized(null, null, 4096L),
            new PatchSandbox(
                new CreateSandbox.Size(null, null, null, null),
                new CreateSandbox.Expiry(null, null, null),
                CreateSandbox.Network.DEFAULT,
                Map.of("A", "b"),
                null))) {
      assertThatExceptionOfType(SandboxException.class)
          .isThrownBy(() -> sandboxes.patch(ALICE, sandbox.id(), refused))
          .matches(e -> e.code() == ErrorCode.WRONG_STATE);
    }
  }

  @Test
  void whatIsAboveAMaximumThatWasLoweredCanStillBeChanged() throws IOException {
    var most = new AtomicLong(8192);
    try (var lowered =
        new ControlFixture(
            settings ->
                settings.withSandboxes(
                    settings
                        .sandboxes()
                        .with(
                            draft -> {
                              draft.maxMemoryMb = most.get();
                              draft.maxDiskMb = most.get();
                            })))) {
      Sandbox large = lowered.control().sandboxes().create(ALICE, sized(8192L, null, 8192L, null));
      lowered.control().sandboxes().stop(ALICE, large.id());
      most.set(4096);
      Sandboxes now = lowered.restart().sandboxes();

      Sandbox patched = now.patch(ALICE, large.id(), resized(null, 0.5, null));

      assertThat(patched.limits().cpus()).isEqualTo(0.5);
      assertThat(patched.limits().memory().mebibytes()).isEqualTo(8192);
      assertThatExceptionOfType(SandboxException.class)
          .isThrownBy(() -> now.patch(ALICE, large.id(), resized(5000L, null, null)))
          .matches(e -> e.field().orElse("").equals("memory_mb"));
    }
  }

  @Test
  void badRequestsNameTheField() {
    refused(
        "network.presets",
        CreateSandbox.defaults()
            .withNetwork(CreateSandbox.Network.of(Policy.NOTHING.withPresets(Set.of("all")))));
    refused("memory_mb", sized(1L, null, null, null));
    refused("memory_mb", sized(Long.MAX_VALUE, null, null, null));
    refused("cpu_cores", sized(null, Double.NaN, null, null));
    refused("disk_mb", sized(null, null, -1L, null));
    refused("pids", sized(null, null, null, 0));
    refused(
        "idle_timeout_seconds",
        CreateSandbox.defaults().withExpiry(CreateSandbox.Expiry.idle(-1, null)));
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(
            () -> sandboxes.create(ALICE, CreateSandbox.defaults().withEnvVars(Map.of("A=B", "c"))))
        .matches(e -> e.field().orElse("").equals("env_vars"));
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> sandboxes.create(ALICE, CreateSandbox.defaults().withEngine("x")))
        .matches(e -> e.code() == ErrorCode.ENGINE_NOT_AVAILABLE);
    assertThat(sandboxes.list(ALICE, SandboxQuery.all()).total()).isZero();
  }

  @Test
  void listsAreFilteredSortedAndPaged() {
    Sandbox one = fixture.sandbox();
    Sandbox two = sandboxes.create(ALICE, CreateSandbox.defaults().withSessionKey("needle_100%"));
    Sandbox three = fixture.sandbox();

    assertThat(ids(new SandboxQuery(1, 2, null, null, null, SandboxQuery.SortBy.CREATED_AT, true)))
        .hasSize(2);
    assertThat(ids(new SandboxQuery(2, 2, null, null, null, SandboxQuery.SortBy.CREATED_AT, true)))
        .hasSize(1);
    assertThat(
            ids(
                new SandboxQuery(
                    1, 20, null, "le_100%", null, SandboxQuery.SortBy.CREATED_AT, true)))
        .containsExactly(two.id());
    assertThat(ids(new SandboxQuery(1, 20, null, "l%1", null, SandboxQuery.SortBy.STATUS, false)))
        .isEmpty();
    assertThat(
            ids(
                new SandboxQuery(
                    1, 20, SandboxStatus.FAILED, null, null, SandboxQuery.SortBy.EXEC_COUNT, true)))
        .isEmpty();
    assertThat(sandboxes.list(MALLORY, SandboxQuery.all()).items()).isEmpty();
    assertThat(sandboxes.list(ADMIN, SandboxQuery.all()).total()).isEqualTo(3);
    assertThat(List.of(one.id(), three.id())).doesNotHaveDuplicates();
  }

  @Test
  void aSandboxIsInOneNamespaceForEver() throws Exception {
    var lab = CreateSandbox.defaults().withSessionKey("chat").withNamespace("lab");
    Sandbox inLab = sandboxes.create(ALICE, lab);
    Sandbox usual = fixture.sandbox();

    assertThat(inLab.namespace()).isEqualTo("lab");
    assertThat(usual.namespace()).isEqualTo(Namespace.DEFAULT);
    assertThat(ids(SandboxQuery.all().in("lab"))).containsExactly(inLab.id());
    assertThat(ids(SandboxQuery.all().in("other"))).isEmpty();
    assertThat(sandboxes.create(ALICE, CreateSandbox.defaults().withSessionKey("chat")).id())
        .isEqualTo(inLab.id());
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> sandboxes.create(ALICE, lab.withNamespace("other")))
        .matches(e -> e.code() == ErrorCode.WRONG_STATE)
        .withMessageContaining("namespace 'lab'");
    fixture.restart();
    assertThat(fixture.control().sandboxes().get(ALICE, inLab.id()).namespace()).isEqualTo("lab");
  }

  @Test
  void countersCountAndSurviveARestart() throws Exception {
    Sandbox sandbox = fixture.sandbox();
    for (int i = 0; i < 3; i++) {
      fixture.control().execs().run(ALICE, sandbox.id(), ExecStart.of(Command.of("true")));
    }
    assertThat(sandboxes.get(ALICE, sandbox.id()).counters().execCount()).isEqualTo(3);
    Control next = fixture.restart();
    assertThat(next.sandboxes().get(ALICE, sandbox.id()).counters().execCount()).isEqualTo(3);
  }

  @Test
  void afterCloseNothingIsStarted() {
    sandboxes.close();
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(fixture::sandbox)
        .matches(e -> e.code() == ErrorCode.SHUTTING_DOWN);
  }

  private static CreateSandbox sized(
      @Nullable Long memoryMb,
      @Nullable Double cpuCores,
      @Nullable Long diskMb,
      @Nullable Integer pids) {
    return CreateSandbox.defaults()
        .withSize(new CreateSandbox.Size(memoryMb, cpuCores, diskMb, pids));
  }

  private static PatchSandbox resized(
      @Nullable Long memoryMb, @Nullable Double cpuCores, @Nullable Long diskMb) {
    return new PatchSandbox(
        new CreateSandbox.Size(memoryMb, cpuCores, diskMb, null),
        new CreateSandbox.Expiry(null, null, null),
        CreateSandbox.Network.DEFAULT,
        null,
        null);
  }

  private void refused(String field, CreateSandbox request) {
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> sandboxes.create(ALICE, request))
        .matches(e -> e.field().orElse("").equals(field), field);
  }

  private List<SandboxId> ids(SandboxQuery query) {
    return sandboxes.list(ALICE, query).items().stream().map(Sandbox::id).toList();
  }

  private static void kill(SandboxId id) {
    guests(id).forEach(ProcessHandle::destroyForcibly);
  }

  private static List<ProcessHandle> guests(SandboxId id) {
    return ProcessHandle.allProcesses()
        .filter(process -> process.info().commandLine().orElse("").contains(id.value()))
        .toList();
  }

  private static void allAtOnce(int count, Callable<?> work) throws Exception {
    try (var pool = Executors.newVirtualThreadPerTaskExecutor()) {
      var tasks = new ArrayList<Callable<Object>>();
      for (int i = 0; i < count; i++) {
        tasks.add(work::call);
      }
      for (var result : pool.invokeAll(tasks)) {
        result.get();
      }
    }
  }

  private static ControlSettings small(ControlSettings settings) {
    return settings.withSandboxes(
        settings
            .sandboxes()
            .withMaxSandboxes(10, 3)
            .withImages(Map.of("folder", Path.of("/nonexistent")))
            .withWatch(Duration.ofDays(1), Duration.ofMillis(50)));
  }
}
