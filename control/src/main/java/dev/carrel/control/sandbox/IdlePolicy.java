package dev.carrel.control.sandbox;

import java.time.Duration;
import java.time.Instant;
import java.util.function.Supplier;

/** Decides what is to become of a sandbox that nobody seems to use, or that has lived for long. */
final class IdlePolicy {
  private final Duration retention;
  private final Duration warning;

  /**
   * @param retention how long a paused one is kept after it was idle
   * @param warning how long before an end it is announced
   */
  IdlePolicy(Duration retention, Duration warning) {
    this.retention = retention;
    this.warning = warning;
  }

  /**
   * Looks at one.
   *
   * @param usedAt when somebody used it or it worked by itself
   * @param busy whether something is under way in it
   */
  Verdict of(Sandbox sandbox, Instant usedAt, boolean busy, Instant now) {
    Verdict byAge = ofAge(sandbox, now);
    if (byAge instanceof Verdict.End || busy) {
      return byAge;
    }
    Verdict byUse = ofUse(sandbox, usedAt, now);
    return byUse instanceof Verdict.Keep ? byAge : byUse;
  }

  private Verdict ofAge(Sandbox sandbox, Instant now) {
    Duration life = sandbox.expiry().maxLife();
    Instant started = sandbox.startedAt();
    OnIdle then = sandbox.expiry().atEnd();
    // Whoever paused it wants to come back to it: then its end must not take its files.
    boolean held = sandbox.status() == SandboxStatus.PAUSED && then != OnIdle.STOP;
    if (life.isZero() || started == null || held) {
      return new Verdict.Keep();
    }
    return at(started.plus(life), life, now, then, () -> Failures.maxLife(life));
  }

  /**
   * What a paused one is when it goes on. One whose end came while it was held begins a life of the
   * same length: otherwise whoever looks into it would bring about its end.
   */
  static Sandbox.Expiry goingOn(Sandbox sandbox, Instant now) {
    Sandbox.Expiry expiry = sandbox.expiry();
    Instant started = sandbox.startedAt();
    if (expiry.atEnd() == OnIdle.STOP
        || expiry.maxLife().isZero()
        || started == null
        || now.isBefore(started.plus(expiry.maxLife()))) {
      return expiry;
    }
    return new Sandbox.Expiry(
        expiry.idleTimeout(),
        expiry.onIdle(),
        Duration.between(started, now).plus(expiry.maxLife()),
        expiry.atEnd());
  }

  private Verdict ofUse(Sandbox sandbox, Instant usedAt, Instant now) {
    Duration timeout = sandbox.expiry().idleTimeout();
    if (timeout.isZero()) {
      return new Verdict.Keep();
    }
    Supplier<Failure> idle = () -> Failures.idle(timeout);
    if (sandbox.status() == SandboxStatus.PAUSED) {
      // It still has its memory. What cannot be kept without it goes as any stopped one does.
      OnIdle then = sandbox.persistent() ? OnIdle.STOP : OnIdle.DESTROY;
      return at(usedAt.plus(timeout).plus(retention), timeout, now, then, idle);
    }
    return at(usedAt.plus(timeout), timeout, now, sandbox.expiry().onIdle(), idle);
  }

  private Verdict at(Instant end, Duration span, Instant now, OnIdle how, Supplier<Failure> why) {
    if (!now.isBefore(end)) {
      return new Verdict.End(how, why.get());
    }
    // Not by dividedBy, which goes by way of decimals: each sandbox is looked at every other
    // second.
    Duration half = Duration.ofMillis(span.toMillis() / 2);
    Instant warn = end.minus(warning.compareTo(half) < 0 ? warning : half);
    // Nothing is lost by a pause.
    return now.isBefore(warn) || how == OnIdle.PAUSE
        ? new Verdict.Keep()
        : new Verdict.Warn(end, new Verdict.End(how, why.get()));
  }

  /** What to do now. */
  sealed interface Verdict {
    record Keep() implements Verdict {}

    /** It is about to end. */
    record Warn(Instant at, End then) implements Verdict {}

    record End(OnIdle how, Failure why) implements Verdict {}
  }
}
