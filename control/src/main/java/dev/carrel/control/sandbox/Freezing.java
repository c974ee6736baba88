package dev.carrel.control.sandbox;

import dev.carrel.control.event.Event;
import dev.carrel.control.event.Events;
import dev.carrel.control.sandbox.Turns.Turn;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Holds a sandbox that tried to let a canary out, until its owner lets it go on. Unlike a pause, no
 * other call ends it, and neither does a restart of the server.
 */
final class Freezing {
  private static final Logger LOG = LoggerFactory.getLogger(Freezing.class);

  private final Life life;
  private final SandboxStore store;
  private final Events events;

  Freezing(Life life, SandboxStore store, Events events) {
    this.life = life;
    this.store = store;
    this.events = events;
  }

  /** The value of a canary was about to leave. Does not wait for what follows from it. */
  void tripped(RunningSandbox live, String secret) {
    Thread.ofVirtual().name(live.id() + "-freeze").start(() -> freeze(live, secret));
  }

  /** Somebody who may says that it may go on. */
  void release(RunningSandbox live) {
    try (Turn _ = life.turn(live.id())) {
      Sandbox now = live.row();
      Sandbox next = now.edit().frozen(null).build();
      if (life.find(live.id()) == live && store.configure(now, next)) {
        live.row(next);
      }
    }
  }

  private void freeze(RunningSandbox live, String secret) {
    Sandbox row = live.row();
    events.tell(
        row.tenant(), row.namespace(), Event.SECRET_CANARY, row.id(), Map.of("secret", secret));
    // Whoever changes it may take long, but not for ever.
    try (Turn _ = life.turns().takeAtLast(live.id())) {
      // First of all, so that the watch tries again when this cannot be written down now.
      live.row(
          live.row()
              .edit()
              .frozen("the canary secret '" + secret + "' was about to leave it")
              .build());
      hold(live);
    } catch (SandboxException e) {
      LOG.error("sandbox {} let canary {} go and runs on: {}", row.id(), secret, e.message());
    }
  }

  /** Holds one that may not go on; where nothing can be held, it ends. */
  void hold(RunningSandbox live) {
    try (Turn _ = life.turn(live.id())) {
      Sandbox row = live.row();
      String why = row.frozen();
      if (why == null || life.find(live.id()) != live || !store.configure(row, row)) {
        return;
      }
      try {
        life.pause(live.id(), Failure.CANARY);
      } catch (SandboxException e) {
        if (e.code() != ErrorCode.NOT_SUPPORTED) {
          throw e;
        }
        life.stop(
            live,
            new Failure(Failure.CANARY, why, "look at what ran in it before you start it again"));
      }
    }
  }
}
