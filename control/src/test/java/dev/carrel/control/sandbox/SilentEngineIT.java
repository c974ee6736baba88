package dev.carrel.control.sandbox;

import static dev.carrel.control.ControlFixture.eventually;
import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.control.ChangedMachines;
import dev.carrel.control.ControlFixture;
import dev.carrel.control.ControlSettings;
import dev.carrel.spi.Engine;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.Machine;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** An engine that gives the watch no answer about machines. */
final class SilentEngineIT {
  private static final Duration SILENCE = Duration.ofMillis(2200);

  private final List<SandboxId> waited = new CopyOnWriteArrayList<>();
  private final List<SandboxId> asked = new CopyOnWriteArrayList<>();
  private volatile Set<SandboxId> silent = Set.of();

  @Test
  void oneAloneWaitsForItInARound() throws Exception {
    try (var fixture = new ControlFixture("process", SilentEngineIT::watched, this::around)) {
      Set<SandboxId> all = ids(fixture, 4);
      silent = all;
      eventually(() -> !waited.isEmpty());

      // Waits for the round to end.
      fixture.control().close();

      silent = Set.of();
      fixture.reopen();
      assertThat(waited).hasSize(1);
    }
  }

  @Test
  void oneThatGetsNoAnswerKeepsNoOtherFromBeingSeenTo() throws Exception {
    try (var fixture = new ControlFixture("process", SilentEngineIT::watched, this::around)) {
      Set<SandboxId> all = ids(fixture, 4);
      silent = Set.of(all.iterator().next());
      eventually(() -> !waited.isEmpty());
      asked.clear();

      eventually(() -> asked.containsAll(all));

      silent = Set.of();
    }
  }

  private static Set<SandboxId> ids(ControlFixture fixture, int count) {
    return Set.copyOf(Stream.generate(() -> fixture.sandbox().id()).limit(count).toList());
  }

  private Engine around(Engine engine) {
    return ChangedMachines.of(engine, this::stand);
  }

  private void stand(Machine machine, String method) throws InterruptedException {
    if (!method.equals("death") || !Thread.currentThread().getName().equals("sandbox-watch")) {
      return;
    }
    asked.add(machine.id());
    if (silent.contains(machine.id())) {
      waited.add(machine.id());
      boolean _ = new CountDownLatch(1).await(SILENCE.toMillis(), TimeUnit.MILLISECONDS);
      throw new SandboxException(ErrorCode.ENGINE_FAILED, "no answer");
    }
  }

  private static ControlSettings watched(ControlSettings settings) {
    return settings.withSandboxes(
        settings.sandboxes().withWatch(Duration.ofDays(1), Duration.ofMillis(50)));
  }
}
