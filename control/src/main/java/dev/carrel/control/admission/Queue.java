package dev.carrel.control.admission;

import dev.carrel.control.event.Event;
import dev.carrel.control.event.Events;
import dev.carrel.control.sandbox.RunningSandbox;
import dev.carrel.control.sandbox.SandboxListener;
import dev.carrel.control.telemetry.Telemetry;
import dev.carrel.spi.Command;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The lines of this server: one for creates, one for commands and code. Safe for many threads. */
public final class Queue implements SandboxListener {
  private static final Duration BETWEEN_NEWS = Duration.ofMillis(100);
  private static final int MANY = 1000;

  private final Events events;
  private final Map<String, Long> told = new ConcurrentHashMap<>();
  private final Line creates;
  private final Line executions;
  private final Consumer<SandboxId> toll;
  private volatile Duration maxWait;

  /**
   * @param toll told of each execution before it begins; throws when it may not
   */
  public Queue(
      QueueSettings settings, Telemetry telemetry, Events events, Consumer<SandboxId> toll) {
    this.toll = toll;
    this.events = events;
    creates = new Line(Line.Kind.CREATE, settings.maxCreates(), settings.maxWaiting(), telemetry);
    executions =
        new Line(Line.Kind.EXECUTION, settings.maxExecutions(), settings.maxWaiting(), telemetry);
    maxWait = settings.maxWait();
    for (Line line : List.of(creates, executions)) {
      String kind = line.kind().wireName();
      telemetry.gauge("queue_running", "kind", kind, line::running);
      telemetry.gauge("queue_waiting", "kind", kind, line::waiting);
      telemetry.gauge("queue_limit", "kind", kind, line::limit);
    }
  }

  /** Changes the bounds from now on, also for those who wait. */
  public void resize(QueueSettings settings) {
    maxWait = settings.maxWait();
    creates.resize(settings.maxCreates(), settings.maxWaiting());
    executions.resize(settings.maxExecutions(), settings.maxWaiting());
  }

  /** A place for making a sandbox. */
  public Place enterCreate(String tenant, String namespace, Waiting waiting)
      throws InterruptedException {
    return enter(creates, tenant, namespace, null, maxWait, waiting);
  }

  /**
   * A place for running something.
   *
   * @param timeout of what is to run, which the waiting is a part of
   */
  public Place enterExecution(
      String tenant, RunningSandbox sandbox, @Nullable Duration timeout, Waiting waiting)
      throws InterruptedException {
    Duration patience = timeout == null || timeout.compareTo(maxWait) > 0 ? maxWait : timeout;
    Place place = enter(executions, tenant, sandbox.namespace(), sandbox.id(), patience, waiting);
    boolean paid = false;
    try {
      toll.accept(sandbox.id());
      paid = true;
      return place;
    } finally {
      if (!paid) {
        place.close();
      }
    }
  }

  // Whoever pauses sandboxes must not keep all others from running anything.
  @Override
  public void paused(SandboxId id) {
    executions.lend(id);
  }

  @Override
  public void resumed(SandboxId id) {
    executions.takeBack(id);
  }

  @Override
  public void ended(SandboxId id) {
    // What ran in it gives its place back by itself.
  }

  @Override
  public void removed(SandboxId id) {
    // As above.
  }

  private Place enter(
      Line line,
      String tenant,
      String namespace,
      @Nullable SandboxId sandbox,
      Duration patience,
      Waiting waiting)
      throws InterruptedException {
    try {
      return line.enter(tenant, sandbox, patience, waiting);
    } catch (SandboxException e) {
      tellRefused(line, tenant, namespace, sandbox);
      throw e;
    }
  }

  // A storm of refusals must not become a storm of news, nor one tenant's hide another's.
  private void tellRefused(
      Line line, String tenant, String namespace, @Nullable SandboxId sandbox) {
    long now = System.nanoTime();
    if (told.size() > MANY) {
      told.values().removeIf(at -> now - at >= BETWEEN_NEWS.toNanos());
    }
    Long last =
        told.compute(
            tenant,
            (_, at) -> at == null || now - at >= BETWEEN_NEWS.toNanos() ? Long.valueOf(now) : at);
    if (last == now) {
      events.tell(
          tenant,
          namespace,
          Event.QUEUE_BACKPRESSURE,
          sandbox,
          Map.of("kind", line.kind().wireName(), "waiting", String.valueOf(line.waiting())));
    }
  }

  /** Each line, with what waits of this tenant. */
  public List<Line.Snapshot> snapshot(String tenant) {
    return List.of(creates.snapshot(tenant), executions.snapshot(tenant));
  }

  /** What is left of a timeout after the waiting; never nothing. */
  public static Duration left(Duration timeout, Duration waited) {
    Duration left = timeout.minus(waited);
    return left.isPositive() ? left : Duration.ofMillis(1);
  }

  /** The same command with what is left of its timeout. */
  public static Command within(Command command, Place place) {
    Duration timeout = command.timeout();
    return timeout == null || place.waited().isZero()
        ? command
        : command.withTimeout(left(timeout, place.waited()));
  }
}
