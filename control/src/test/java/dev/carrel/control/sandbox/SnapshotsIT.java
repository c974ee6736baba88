package dev.carrel.control.sandbox;

import static dev.carrel.control.ControlFixture.ALICE;
import static dev.carrel.control.ControlFixture.MALLORY;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.carrel.control.ControlFixture;
import dev.carrel.control.exec.ExecStart;
import dev.carrel.spi.Command;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SnapshotId;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicBoolean;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Files that outlive machines: volumes with names, snapshots, forks. */
final class SnapshotsIT {
  private final HeldEngine held = new HeldEngine();
  private ControlFixture fixture;

  @BeforeEach
  void open() throws IOException {
    fixture = new ControlFixture("process", settings -> settings, held::around);
  }

  @AfterEach
  void close() throws IOException {
    fixture.close();
  }

  @Test
  void aSnapshotIsOfOneMomentAndBringsARunningSandboxBackToIt() {
    Sandbox sandbox = fixture.sandbox();
    run(sandbox, "echo old > file");
    Snapshot snapshot = snapshots().create(ALICE, sandbox.id(), "before");
    run(sandbox, "echo new > file; touch more");

    Sandbox restored = snapshots().restore(ALICE, sandbox.id(), snapshot.id());
    assertThat(restored.status()).isEqualTo(SandboxStatus.RUNNING);
    assertThat(run(sandbox, "cat file; ls")).isEqualTo("old\nfile\n");
    assertThat(snapshots().list(ALICE, sandbox.id())).containsExactly(snapshot);
    assertThat(snapshots().get(ALICE, snapshot.id()).name()).isEqualTo("before");
    // The volume that was replaced is gone.
    assertThat(held.volumes()).hasSize(2);
  }

  @Test
  void aStoppedSandboxIsRestoredAndStaysStopped() {
    Sandbox sandbox = fixture.sandbox();
    run(sandbox, "echo old > file");
    sandboxes().stop(ALICE, sandbox.id());
    Snapshot snapshot = snapshots().create(ALICE, sandbox.id(), null);
    sandboxes().start(ALICE, sandbox.id());
    run(sandbox, "rm file");
    sandboxes().stop(ALICE, sandbox.id());

    assertThat(snapshots().restore(ALICE, sandbox.id(), snapshot.id()).status())
        .isEqualTo(SandboxStatus.STOPPED);
    sandboxes().start(ALICE, sandbox.id());
    assertThat(run(sandbox, "cat file")).isEqualTo("old\n");
  }

  @Test
  void aSnapshotOutlivesItsSandboxAndOthersBeginWithIt() {
    Sandbox sandbox = fixture.sandbox();
    run(sandbox, "echo old > file");
    Snapshot snapshot = snapshots().create(ALICE, sandbox.id(), null);
    sandboxes().delete(ALICE, sandbox.id());
    fixture.restart();

    CreateSandbox request =
        CreateSandbox.defaults().withStorage(new CreateSandbox.Storage(null, null, snapshot.id()));
    Sandbox one = sandboxes().create(ALICE, request);
    Sandbox two = sandboxes().create(ALICE, request);
    run(one, "echo mine > file");
    assertThat(run(two, "cat file")).isEqualTo("old\n");
    assertThat(snapshots().list(ALICE)).hasSize(1);
    refused(
        ErrorCode.INVALID_INPUT,
        () ->
            sandboxes()
                .create(ALICE, request.withSize(new CreateSandbox.Size(null, null, 5L, null))));

    snapshots().delete(ALICE, snapshot.id());
    refused(ErrorCode.SNAPSHOT_NOT_FOUND, () -> snapshots().delete(ALICE, snapshot.id()));
    assertThat(run(two, "cat file")).isEqualTo("old\n");
    assertThat(held.volumes()).hasSize(2);
  }

  @Test
  void aForkHasTheFilesOfTheMomentAndALifeOfItsOwn() {
    Sandbox source =
        sandboxes()
            .create(
                ALICE,
                CreateSandbox.defaults()
                    .withSessionKey("key")
                    .withNamespace("lab")
                    .withEnvVars(Map.of("WHO", "me")));
    run(source, "echo shared > file");
    Sandbox fork = snapshots().fork(ALICE, source.id());
    run(source, "echo changed > file");

    assertThat(fork.id()).isNotEqualTo(source.id());
    assertThat(fork.sessionKey()).isNull();
    assertThat(fork.namespace()).isEqualTo("lab");
    assertThat(fork.limits()).isEqualTo(source.limits());
    assertThat(run(fork, "cat file; echo $WHO")).isEqualTo("shared\nme\n");
    sandboxes().delete(ALICE, source.id());
    assertThat(run(fork, "cat file")).isEqualTo("shared\n");
  }

  @Test
  void whatIsAnotherTenantsOrInMemoryCannotBeCopied() {
    Sandbox sandbox = fixture.sandbox();
    Snapshot snapshot = snapshots().create(ALICE, sandbox.id(), null);
    refused(ErrorCode.SANDBOX_NOT_FOUND, () -> snapshots().create(MALLORY, sandbox.id(), null));
    refused(ErrorCode.SANDBOX_NOT_FOUND, () -> snapshots().fork(MALLORY, sandbox.id()));
    refused(ErrorCode.SNAPSHOT_NOT_FOUND, () -> snapshots().get(MALLORY, snapshot.id()));
    refused(
        ErrorCode.SNAPSHOT_NOT_FOUND,
        () ->
            sandboxes()
                .create(
                    MALLORY,
                    CreateSandbox.defaults()
                        .withStorage(new CreateSandbox.Storage(null, null, snapshot.id()))));
    refused(
        ErrorCode.SNAPSHOT_NOT_FOUND,
        () -> snapshots().restore(ALICE, sandbox.id(), SnapshotId.random()));
    assertThat(snapshots().list(MALLORY)).isEmpty();

    Sandbox brief =
        sandboxes()
            .create(ALICE, CreateSandbox.defaults().withStorage(CreateSandbox.Storage.EPHEMERAL));
    refused(ErrorCode.WRONG_STATE, () -> snapshots().create(ALICE, brief.id(), null));
    refused(ErrorCode.WRONG_STATE, () -> snapshots().fork(ALICE, brief.id()));
  }

  @Test
  void aNamedVolumeIsUsedByOneAtATimeAndOutlivesThemAll() {
    CreateSandbox request = named("data");
    Sandbox first = sandboxes().create(ALICE, request);
    run(first, "echo kept > file");
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> sandboxes().create(ALICE, request))
        .withMessageContaining(first.id().value())
        .matches(e -> e.code() == ErrorCode.WRONG_STATE);
    assertThat(volumes().get(ALICE, "data").sandbox()).isEqualTo(first.id());
    refused(ErrorCode.WRONG_STATE, () -> volumes().delete(ALICE, "data"));
    // Another tenant's name is another volume.
    Sandbox foreign = sandboxes().create(MALLORY, request);
    sandboxes().delete(MALLORY, foreign.id());
    volumes().delete(MALLORY, "data");

    sandboxes().stop(ALICE, first.id());
    Sandbox second = sandboxes().create(ALICE, request);
    assertThat(run(second, "cat file")).isEqualTo("kept\n");
    refused(ErrorCode.WRONG_STATE, () -> sandboxes().start(ALICE, first.id()));
    sandboxes().delete(ALICE, second.id());
    sandboxes().start(ALICE, first.id());
    assertThat(run(first, "cat file")).isEqualTo("kept\n");
    sandboxes().delete(ALICE, first.id());
    fixture.restart();

    assertThat(volumes().list(ALICE))
        .singleElement()
        .extracting(NamedVolume::name)
        .isEqualTo("data");
    Sandbox third = sandboxes().create(ALICE, request);
    assertThat(run(third, "cat file")).isEqualTo("kept\n");
    sandboxes().delete(ALICE, third.id());
    volumes().delete(ALICE, "data");
    refused(ErrorCode.VOLUME_NOT_FOUND, () -> volumes().delete(ALICE, "data"));
    assertThat(held.volumes()).isEmpty();
  }

  @Test
  void aNamedVolumeThatIsRestoredKeepsItsName() {
    Sandbox sandbox = sandboxes().create(ALICE, named("data"));
    run(sandbox, "echo old > file");
    Snapshot snapshot = snapshots().create(ALICE, sandbox.id(), null);
    run(sandbox, "echo new > file");
    snapshots().restore(ALICE, sandbox.id(), snapshot.id());
    sandboxes().delete(ALICE, sandbox.id());

    Sandbox next = sandboxes().create(ALICE, named("data"));
    assertThat(run(next, "cat file")).isEqualTo("old\n");
    sandboxes().delete(ALICE, next.id());
    volumes().delete(ALICE, "data");
    snapshots().delete(ALICE, snapshot.id());
    assertThat(held.volumes()).isEmpty();
  }

  @Test
  void aVolumeThatAnotherSandboxUsesIsNotRestoredUnderIt() {
    Sandbox first = sandboxes().create(ALICE, named("data"));
    run(first, "echo old > file");
    Snapshot snapshot = snapshots().create(ALICE, first.id(), null);
    sandboxes().stop(ALICE, first.id());
    Sandbox second = sandboxes().create(ALICE, named("data"));
    run(second, "echo mine > file");

    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> snapshots().restore(ALICE, first.id(), snapshot.id()))
        .withMessageContaining(second.id().value())
        .matches(e -> e.code() == ErrorCode.WRONG_STATE);
    assertThat(run(second, "cat file")).isEqualTo("mine\n");
    assertThat(held.volumes()).hasSize(2);

    sandboxes().stop(ALICE, second.id());
    snapshots().restore(ALICE, first.id(), snapshot.id());
    assertThat(volumes().get(ALICE, "data").sandbox()).isNull();
    // What the name means now is what everybody who has it gets.
    Sandbox fork = snapshots().fork(ALICE, second.id());
    assertThat(run(fork, "cat file")).isEqualTo("old\n");
    sandboxes().start(ALICE, second.id());
    assertThat(run(second, "cat file")).isEqualTo("old\n");
  }

  @Test
  void nobodyGetsTheNameOfAVolumeWhileASandboxThatRunsIsRestored() throws Exception {
    Sandbox sandbox = sandboxes().create(ALICE, named("data"));
    run(sandbox, "echo old > file");
    Snapshot snapshot = snapshots().create(ALICE, sandbox.id(), null);
    var restored = new AtomicBoolean();
    try (var pool = Executors.newVirtualThreadPerTaskExecutor()) {
      var other =
          pool.submit(
              () -> {
                while (!restored.get()) {
                  refused(ErrorCode.WRONG_STATE, () -> sandboxes().create(ALICE, named("data")));
                }
                return true;
              });
      try {
        assertThat(snapshots().restore(ALICE, sandbox.id(), snapshot.id()).status())
            .isEqualTo(SandboxStatus.RUNNING);
      } finally {
        restored.set(true);
      }
      assertThat(other.get()).isTrue();
    }
    assertThat(run(sandbox, "cat file")).isEqualTo("old\n");
  }

  @Test
  void oneOfManyWhoAskAtOnceGetsTheVolume() throws Exception {
    var work = new ArrayList<Callable<Integer>>();
    for (int i = 0; i < 20; i++) {
      work.add(
          () -> {
            try {
              sandboxes().create(ALICE, named("data"));
              return 1;
            } catch (SandboxException e) {
              assertThat(e.code()).isEqualTo(ErrorCode.WRONG_STATE);
              return 0;
            }
          });
    }
    int made = 0;
    try (var pool = Executors.newVirtualThreadPerTaskExecutor()) {
      for (var result : pool.invokeAll(work)) {
        made += result.get();
      }
    }
    assertThat(made).isEqualTo(1);
    assertThat(sandboxes().list(ALICE, SandboxQuery.all()).total()).isEqualTo(1);
  }

  @Test
  void aNameIsNoPath() {
    for (String bad : List.of("", ".", "..", "../up", "a/b", "Upper", "-x", "a".repeat(64), "ä")) {
      refused(ErrorCode.INVALID_INPUT, () -> volumes().create(ALICE, bad, null, null));
      refused(ErrorCode.INVALID_INPUT, () -> sandboxes().create(ALICE, named(bad)));
      refused(ErrorCode.VOLUME_NOT_FOUND, () -> volumes().get(ALICE, bad));
    }
    NamedVolume made = volumes().create(ALICE, "a.b_c-1", 64L, null);
    assertThat(made.size().mebibytes()).isEqualTo(64);
    refused(ErrorCode.WRONG_STATE, () -> volumes().create(ALICE, "a.b_c-1", null, null));
    assertThat(sandboxes().create(ALICE, named("a.b_c-1")).limits().disk().mebibytes())
        .isEqualTo(64);
  }

  private static CreateSandbox named(String volume) {
    return CreateSandbox.defaults().withStorage(new CreateSandbox.Storage(null, volume, null));
  }

  private static void refused(ErrorCode code, ThrowingCallable call) {
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(call)
        .matches(e -> e.code() == code, code.wireName());
  }

  private Sandboxes sandboxes() {
    return fixture.control().sandboxes();
  }

  private Snapshots snapshots() {
    return sandboxes().snapshots();
  }

  private NamedVolumes volumes() {
    return sandboxes().namedVolumes();
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
}
