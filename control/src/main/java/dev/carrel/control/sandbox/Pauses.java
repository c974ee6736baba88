package dev.carrel.control.sandbox;

import dev.carrel.control.sandbox.Turns.Turn;
import dev.carrel.control.telemetry.Telemetry;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.Machine;
import dev.carrel.spi.SandboxException;
import java.util.List;

/**
 * Holds sandboxes and lets them go on, each as a whole: what could not be written down is undone.
 * Whoever calls has the turn.
 */
final class Pauses {
  private final Life life;
  private final List<SandboxListener> listeners;
  private final Telemetry telemetry;

  Pauses(Life life, List<SandboxListener> listeners, Telemetry telemetry) {
    this.life = life;
    this.listeners = listeners;
    this.telemetry = telemetry;
  }

  void hold(RunningSandbox live, String cause) {
    if (live.paused()) {
      return;
    }
    // First of all, so that whoever uses it from now on waits for us.
    live.paused(true);
    boolean held = true;
    boolean done = false;
    Machine machine = live.machine();
    try {
      Bounded.call(
          "pause of " + live.id(),
          Life.FREEZE_LIMIT,
          () -> {
            machine.pause();
            return machine;
          },
          _ -> undoLate(live));
      life.move(live, SandboxStatus.PAUSED, null, cause);
      done = true;
      listeners.forEach(listener -> listener.paused(live.id()));
      telemetry.count("sandboxes_paused");
    } catch (SandboxException e) {
      held = e.code() != ErrorCode.NOT_SUPPORTED;
      throw e;
    } finally {
      if (!done) {
        // Not written down, or its engine fell silent and may have done it: it must not stay so.
        if (held) {
          live.letGo(Life.FREEZE_LIMIT);
        }
        live.paused(false);
        live.awake();
      }
    }
  }

  /** It came when nobody waited for it any more; another one may have been made since. */
  private void undoLate(RunningSandbox live) {
    try (Turn _ = life.turns().takeAtLast(live.id())) {
      if (life.find(live.id()) == live && !live.paused()) {
        live.letGo(Life.FREEZE_LIMIT);
      }
    }
  }

  /** Throws when its machine is gone. */
  void resume(RunningSandbox live, String cause) {
    if (!live.paused()) {
      return;
    }
    live.requireNotFrozen();
    try {
      Bounded.run("resume of " + live.id(), Life.FREEZE_LIMIT, live.machine()::resume);
    } catch (SandboxException e) {
      throw live.machine().death().isPresent() ? Failures.notRunning(life.died(live)) : e;
    }
    writeDown(live, cause);
    listeners.forEach(listener -> listener.resumed(live.id()));
    live.goOn();
    telemetry.count("sandboxes_resumed");
  }

  private void writeDown(RunningSandbox live, String cause) {
    Sandbox held = live.row();
    boolean written = false;
    try {
      live.row(held.edit().expiry(IdlePolicy.goingOn(held, life.now())).build());
      life.move(live, SandboxStatus.RUNNING, null, cause);
      written = true;
    } finally {
      if (!written) {
        live.row(held);
        live.holdAgain(Life.FREEZE_LIMIT);
      }
    }
  }
}
