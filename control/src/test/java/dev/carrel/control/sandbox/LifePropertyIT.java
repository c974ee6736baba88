package dev.carrel.control.sandbox;

import static dev.carrel.control.ControlFixture.ALICE;
import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.control.ControlFixture;
import dev.carrel.control.exec.ExecStart;
import dev.carrel.spi.Command;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import dev.carrel.spi.SnapshotId;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Random operations on the real thing, held against a model of a few lines: what is said of each
 * sandbox, what is in its files, and what is left in the end. A failure names its seed; {@code
 * -Dcarrel.seed=N} runs that one again, {@code -Dcarrel.steps=N} more or fewer of them.
 */
final class LifePropertyIT {
  private static final int MAX_SANDBOXES = 5;
  private static final int MAX_SNAPSHOTS = 4;

  private final long seed = Long.getLong("carrel.seed", System.nanoTime());
  private final int steps = Integer.getInteger("carrel.steps", 60);
  private final Random random = new Random(seed);
  private final HeldEngine held = new HeldEngine();
  private final Map<SandboxId, Model> models = new LinkedHashMap<>();
  private final Map<SnapshotId, String> snapshots = new LinkedHashMap<>();
  private final List<String> history = new ArrayList<>();
  private @Nullable ControlFixture fixture;
  private boolean pauses;

  @ParameterizedTest
  @ValueSource(strings = {"process", "native"})
  @Timeout(300)
  void whateverHappensTheModelHolds(String engine) throws Exception {
    pauses = engine.equals("native");
    try (var open =
        new ControlFixture(
            engine,
            settings ->
                settings.withSandboxes(
                    settings.sandboxes().withWatch(Duration.ofDays(1), Duration.ofMillis(20))),
            held::around)) {
      fixture = open;
      try {
        for (int i = 0; i < steps; i++) {
          step();
          models.forEach(this::compare);
        }
        finish();
      } catch (AssertionError | RuntimeException e) {
        throw new AssertionError(
            "seed %d: %s after %s".formatted(seed, e, String.join(", ", history)), e);
      }
    }
  }

  private void step() {
    if (models.isEmpty() || (random.nextInt(6) == 0 && models.size() < MAX_SANDBOXES)) {
      create();
      return;
    }
    var ids = List.copyOf(models.keySet());
    SandboxId id = ids.get(random.nextInt(ids.size()));
    Model model = Objects.requireNonNull(models.get(id));
    switch (random.nextInt(14)) {
      case 0, 1, 2 -> write(id, model);
      case 3 -> read(id, model);
      case 4 -> pause(id, model);
      case 5 -> resume(id, model);
      case 6, 7 -> stop(id, model);
      case 8, 9 -> start(id, model);
      case 10 -> die(id, model);
      case 11 -> snapshot(id, model);
      case 12 -> restore(id, model);
      default -> {
        switch (random.nextInt(4)) {
          case 0 -> delete(id);
          case 1 -> restartServer();
          case 2 -> fork(id, model);
          default -> sameKey(id, model);
        }
      }
    }
  }

  private void create() {
    boolean ephemeral = random.nextInt(4) == 0;
    String key = random.nextBoolean() ? "key-" + history.size() : null;
    history.add("create" + (ephemeral ? " ephemeral" : ""));
    CreateSandbox request = CreateSandbox.defaults();
    if (ephemeral) {
      request = request.withStorage(CreateSandbox.Storage.EPHEMERAL);
    }
    if (key != null) {
      request = request.withSessionKey(key);
    }
    Sandbox made = sandboxes().create(ALICE, request);
    models.put(made.id(), new Model(!ephemeral, key));
  }

  private void write(SandboxId id, Model model) {
    String text = "text-" + history.size();
    history.add("write");
    ErrorCode refused = attempt(() -> run(id, "echo " + text + " > file"));
    assertThat(refused).isEqualTo(model.used());
    if (refused == null) {
      model.text = text + "\n";
    }
  }

  private void read(SandboxId id, Model model) {
    history.add("read");
    if (model.used() == null) {
      assertThat(run(id, "cat file 2>/dev/null")).isEqualTo(model.text);
    }
  }

  private void pause(SandboxId id, Model model) {
    history.add("pause");
    ErrorCode refused = attempt(() -> sandboxes().pause(ALICE, id));
    if (!model.status.live()) {
      assertThat(refused).isEqualTo(model.refusal());
    } else if (!pauses) {
      assertThat(refused).isEqualTo(ErrorCode.NOT_SUPPORTED);
    } else {
      assertThat(refused).isNull();
      model.status = SandboxStatus.PAUSED;
    }
  }

  private void resume(SandboxId id, Model model) {
    history.add("resume");
    assertThat(attempt(() -> sandboxes().resume(ALICE, id))).isEqualTo(model.used());
  }

  private void stop(SandboxId id, Model model) {
    history.add("stop");
    ErrorCode refused = attempt(() -> sandboxes().stop(ALICE, id));
    if (model.status == SandboxStatus.FAILED) {
      assertThat(refused).isEqualTo(model.refusal());
    } else {
      assertThat(refused).isNull();
      model.status = SandboxStatus.STOPPED;
    }
  }

  private void start(SandboxId id, Model model) {
    history.add("start");
    ErrorCode refused = attempt(() -> sandboxes().start(ALICE, id));
    if (model.status.live() || model.persistent) {
      assertThat(refused).isNull();
      model.status = SandboxStatus.RUNNING;
    } else {
      assertThat(refused).isEqualTo(ErrorCode.SANDBOX_GONE);
    }
  }

  private void die(SandboxId id, Model model) {
    RunningSandbox live = sandboxes().life().find(id);
    if (live == null) {
      return;
    }
    history.add("die");
    live.machine().destroy();
    ControlFixture.eventually(() -> status(id) == SandboxStatus.FAILED);
    model.status = SandboxStatus.FAILED;
  }

  private void snapshot(SandboxId id, Model model) {
    if (snapshots.size() >= MAX_SNAPSHOTS) {
      SnapshotId oldest = snapshots.keySet().iterator().next();
      history.add("delete snapshot");
      sandboxes().snapshots().delete(ALICE, oldest);
      snapshots.remove(oldest);
      return;
    }
    history.add("snapshot");
    ErrorCode refused =
        attempt(
            () -> snapshots.put(sandboxes().snapshots().create(ALICE, id, null).id(), model.text));
    assertThat(refused).isEqualTo(model.copied());
  }

  private void restore(SandboxId id, Model model) {
    if (snapshots.isEmpty()) {
      return;
    }
    var ids = List.copyOf(snapshots.keySet());
    SnapshotId from = ids.get(random.nextInt(ids.size()));
    history.add("restore");
    ErrorCode refused = attempt(() -> sandboxes().snapshots().restore(ALICE, id, from));
    assertThat(refused).isEqualTo(model.copied());
    if (refused == null) {
      model.text = Objects.requireNonNull(snapshots.get(from));
      model.status = model.status.live() ? SandboxStatus.RUNNING : model.status;
    }
  }

  private void fork(SandboxId id, Model model) {
    if (models.size() >= MAX_SANDBOXES) {
      return;
    }
    history.add("fork");
    ErrorCode refused =
        attempt(
            () -> {
              var fork = new Model(true, null);
              fork.text = model.text;
              models.put(sandboxes().snapshots().fork(ALICE, id).id(), fork);
            });
    assertThat(refused).isEqualTo(model.copied());
  }

  private void sameKey(SandboxId id, Model model) {
    String key = model.key;
    if (key == null || (!model.status.live() && !model.persistent)) {
      return;
    }
    history.add("same key");
    Sandboxes.Obtained found =
        sandboxes().obtain(ALICE, CreateSandbox.defaults().withSessionKey(key));
    assertThat(found.made()).isFalse();
    assertThat(found.sandbox().id()).isEqualTo(id);
    model.status = SandboxStatus.RUNNING;
  }

  private void delete(SandboxId id) {
    history.add("delete");
    sandboxes().delete(ALICE, id);
    sandboxes().delete(ALICE, id);
    models.remove(id);
    assertThat(attempt(() -> sandboxes().get(ALICE, id))).isEqualTo(ErrorCode.SANDBOX_NOT_FOUND);
  }

  private void restartServer() {
    history.add("restart");
    Objects.requireNonNull(fixture).restart();
  }

  private void compare(SandboxId id, Model model) {
    assertThat(status(id)).as(id.value()).isEqualTo(model.status);
    SandboxStatus at = SandboxStatus.CREATING;
    for (Transition step : sandboxes().journal(ALICE, id)) {
      assertThat(step.from()).isEqualTo(at);
      assertThat(Transitions.exists(step.from(), step.to())).isTrue();
      at = step.to();
    }
    assertThat(at).isEqualTo(model.status);
  }

  private void finish() {
    for (SandboxId id : List.copyOf(models.keySet())) {
      Model model = Objects.requireNonNull(models.get(id));
      if (model.persistent) {
        sandboxes().start(ALICE, id);
        assertThat(run(id, "cat file 2>/dev/null")).isEqualTo(model.text);
      }
      delete(id);
    }
    snapshots.keySet().forEach(id -> sandboxes().snapshots().delete(ALICE, id));
    assertThat(sandboxes().list(ALICE, SandboxQuery.all()).total()).isZero();
    // What was made ahead for this series goes soon after it.
    ControlFixture.eventually(() -> held.volumes().isEmpty());
    assertThat(sandboxes().life().running()).isEmpty();
  }

  /** What it was refused with; null when it was not. */
  private static @Nullable ErrorCode attempt(Runnable work) {
    try {
      work.run();
      return null;
    } catch (SandboxException e) {
      return e.code();
    }
  }

  private Sandboxes sandboxes() {
    return Objects.requireNonNull(fixture).control().sandboxes();
  }

  private SandboxStatus status(SandboxId id) {
    return sandboxes().get(ALICE, id).status();
  }

  private String run(SandboxId id, String line) {
    try {
      return Objects.requireNonNull(fixture)
          .control()
          .execs()
          .run(ALICE, id, ExecStart.of(Command.shell(line)))
          .stdout()
          .text();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  /** What is expected of one sandbox. */
  private static final class Model {
    final boolean persistent;
    final @Nullable String key;
    SandboxStatus status = SandboxStatus.RUNNING;
    String text = "";

    Model(boolean persistent, @Nullable String key) {
      this.persistent = persistent;
      this.key = key;
    }

    /** What a call that needs its machine is refused with; if none, it runs afterwards. */
    @Nullable ErrorCode used() {
      if (status.live()) {
        status = SandboxStatus.RUNNING;
        return null;
      }
      return refusal();
    }

    ErrorCode refusal() {
      return persistent && status != SandboxStatus.FAILED
          ? ErrorCode.WRONG_STATE
          : ErrorCode.SANDBOX_GONE;
    }

    @Nullable ErrorCode copied() {
      return persistent ? null : ErrorCode.WRONG_STATE;
    }
  }
}
