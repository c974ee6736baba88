package dev.carrel.control.admission;

import dev.carrel.control.telemetry.Telemetry;
import dev.carrel.spi.Command;
import dev.carrel.spi.SandboxId;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The lines of this server: one for creates, one for commands and code. Safe for many threads. */
public final class Queue {
  private final Line creates;
  private final Line executions;
  private volatile Duration maxWait;

  public Queue(QueueSettings settings, Telemetry telemetry) {
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
  public Place enterCreate(String tenant, Waiting waiting) throws InterruptedException {
    return creates.enter(tenant, null, maxWait, waiting);
  }

  /**
   * A place for running something.
   *
   * @param timeout of what is to run, which the waiting is a part of
   */
  public Place enterExecution(
      String tenant, SandboxId sandbox, @Nullable Duration timeout, Waiting waiting)
      throws InterruptedException {
    Duration patience = timeout == null || timeout.compareTo(maxWait) > 0 ? maxWait : timeout;
    return executions.enter(tenant, sandbox, patience, waiting);
  }

  /** Each line, with what waits of this tenant. */
  public List<Line.Snapshot> snapshot(String tenant) {
    return List.of(creates.snapshot(tenant), executions.snapshot(tenant));
  }

  /** What is left of a timeout after the waiting; never nothing. */
  public static Duration left(Duration timeout, Place place) {
    Duration left = timeout.minus(place.waited());
    return left.isPositive() ? left : Duration.ofMillis(1);
  }

  /** The same command with what is left of its timeout. */
  public static Command within(Command command, Place place) {
    Duration timeout = command.timeout();
    return timeout == null || place.waited().isZero()
        ? command
        : command.withTimeout(left(timeout, place));
  }
}
