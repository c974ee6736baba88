package dev.carrel.control.vault;

import static dev.carrel.control.ControlFixture.ALICE;
import static dev.carrel.control.ControlFixture.eventually;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.carrel.control.ControlFixture;
import dev.carrel.control.event.Events;
import dev.carrel.control.exec.ExecStart;
import dev.carrel.control.sandbox.CreateSandbox;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.control.sandbox.SandboxStatus;
import dev.carrel.spi.Command;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.time.Duration;
import org.junit.jupiter.api.Test;

final class CanaryIT {
  private static final String VALUE = "tripwire-value";
  private static final String LEAK = "printf %s \"$BAIT\" | base64; sleep 1000";

  @Test
  void aCanaryThatTriesToLeaveFreezesItsSandbox() throws Exception {
    try (var fixture = new ControlFixture("native", settings -> settings)) {
      Sandbox sandbox = leak(fixture);

      eventually(() -> now(fixture, sandbox).status() == SandboxStatus.PAUSED);
      assertThat(now(fixture, sandbox).frozen()).contains("BAIT").doesNotContain(VALUE);
      refused(fixture, sandbox);
      fixture.restart();
      // No call but the owner's word ends it, in whichever server.
      refused(fixture, sandbox);
      fixture.control().sandboxes().resume(ALICE, sandbox.id());
      assertThat(now(fixture, sandbox).frozen()).isNull();
      assertThat(run(fixture, sandbox)).isEqualTo("on\n");
    }
  }

  @Test
  void itsSessionKeyDoesNotBringBackWhatWasStopped() throws Exception {
    try (var fixture = new ControlFixture("native", settings -> settings)) {
      CreateSandbox keyed = CreateSandbox.defaults().withSessionKey("notebook");
      Sandbox sandbox = leak(fixture, keyed, LEAK);
      eventually(() -> now(fixture, sandbox).status() == SandboxStatus.PAUSED);
      fixture.control().sandboxes().stop(ALICE, sandbox.id());

      for (int server = 0; server < 2; server++) {
        assertThatExceptionOfType(SandboxException.class)
            .isThrownBy(() -> fixture.control().sandboxes().create(ALICE, keyed))
            .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.WRONG_STATE))
            .satisfies(e -> assertThat(e.hint().orElseThrow()).contains("by its id"))
            .withMessageContaining("BAIT");
        assertThat(now(fixture, sandbox).status()).isEqualTo(SandboxStatus.STOPPED);
        fixture.restart();
      }

      fixture.control().sandboxes().start(ALICE, sandbox.id());
      assertThat(run(fixture, sandbox)).isEqualTo("on\n");
      fixture.control().sandboxes().stop(ALICE, sandbox.id());
      assertThat(fixture.control().sandboxes().create(ALICE, keyed).id()).isEqualTo(sandbox.id());
    }
  }

  @Test
  void aFrozenSandboxDoesNotRunForItsEnd() throws Exception {
    try (var fixture = new ControlFixture("native", settings -> settings)) {
      Sandbox sandbox =
          leak(
              fixture,
              CreateSandbox.defaults(),
              "trap 'echo > ran' TERM; printf %s \"$BAIT\" | base64; while :; do sleep 0.1; done");
      eventually(() -> now(fixture, sandbox).status() == SandboxStatus.PAUSED);

      fixture.control().sandboxes().stop(ALICE, sandbox.id());

      fixture.control().sandboxes().start(ALICE, sandbox.id());
      fixture.control().sandboxes().resume(ALICE, sandbox.id());
      assertThat(run(fixture, sandbox, "ls")).isEmpty();
    }
  }

  @Test
  void whereNothingCanBeHeldTheSandboxEnds() throws Exception {
    try (var fixture = new ControlFixture()) {
      Sandbox sandbox = leak(fixture);

      eventually(() -> now(fixture, sandbox).status() == SandboxStatus.STOPPED);
      assertThat(now(fixture, sandbox).failure())
          .satisfies(failure -> assertThat(failure.cause()).isEqualTo("canary"));
    }
  }

  /** Returns when the alarm was told. */
  private static Sandbox leak(ControlFixture fixture) throws InterruptedException {
    return leak(fixture, CreateSandbox.defaults(), LEAK);
  }

  private static Sandbox leak(ControlFixture fixture, CreateSandbox request, String line)
      throws InterruptedException {
    fixture.control().vault().add(ALICE, null, "BAIT", VALUE, true);
    Sandbox sandbox = fixture.control().sandboxes().create(ALICE, request);
    Events.Subscription news = fixture.control().sandboxes().events(ALICE, sandbox.id(), null);
    fixture
        .control()
        .execs()
        .start(
            ALICE,
            sandbox.id(),
            ExecStart.of(Command.of("sh", "-c", line)).withSecrets("BAIT").inBackground())
        .close();
    var seen = new StringBuilder();
    for (int i = 0; i < 10 && seen.indexOf("secret.canary") < 0; i++) {
      seen.append(news.next(Duration.ofSeconds(20)));
    }
    assertThat(seen.toString()).contains("secret.canary").contains("BAIT").doesNotContain(VALUE);
    return sandbox;
  }

  private static void refused(ControlFixture fixture, Sandbox sandbox) {
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> run(fixture, sandbox))
        .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.WRONG_STATE))
        .withMessageContaining("frozen");
  }

  private static String run(ControlFixture fixture, Sandbox sandbox) throws InterruptedException {
    return run(fixture, sandbox, "echo on");
  }

  private static String run(ControlFixture fixture, Sandbox sandbox, String line)
      throws InterruptedException {
    return fixture
        .control()
        .execs()
        .run(ALICE, sandbox.id(), ExecStart.of(Command.shell(line)))
        .stdout()
        .text();
  }

  private static Sandbox now(ControlFixture fixture, Sandbox sandbox) {
    return fixture.control().sandboxes().get(ALICE, sandbox.id());
  }
}
