package dev.carrel.control.sandbox;

import dev.carrel.spi.Engine;
import dev.carrel.spi.Machine;
import dev.carrel.spi.SandboxId;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Brings rows, machines and volumes together after a start: whatever state the last process died
 * in, afterwards each live row has a machine, each machine a live row, and what was begun is done.
 */
public final class Recovery {
  private static final Logger LOG = LoggerFactory.getLogger(Recovery.class);

  private final Sandboxes sandboxes;
  private final Engines engines;

  public Recovery(Sandboxes sandboxes, Engines engines) {
    this.sandboxes = sandboxes;
    this.engines = engines;
  }

  /** Returns the sandboxes that run on or are paused. */
  public List<RunningSandbox> run() {
    Map<SandboxId, Machine> machines = machines();
    var adopted = new ArrayList<RunningSandbox>();
    for (Sandbox row : sandboxes.store().all()) {
      Machine machine = machines.remove(row.id());
      try {
        recover(row, machine, adopted);
      } catch (RuntimeException e) {
        // One that cannot be brought in order is no reason to serve none of the others.
        LOG.error("sandbox {} could not be brought in order", row.id(), e);
      }
    }
    for (Machine orphan : machines.values()) {
      LOG.info("sandbox {} belongs to nobody: ended", orphan.id());
      destroy(orphan);
    }
    sandboxes.recoverVolumes();
    return adopted;
  }

  private void recover(Sandbox row, @Nullable Machine machine, List<RunningSandbox> adopted) {
    switch (row.status()) {
      case RUNNING, PAUSED -> {
        if (machine != null && machine.death().isEmpty()) {
          adopt(row, machine, adopted);
        } else {
          fail(row, machine, Failures.lost());
        }
      }
      case CREATING -> fail(row, machine, Failures.startInterrupted());
      case STOPPED, FAILED -> end(row, machine);
      case DESTROYED -> {
        end(row, machine);
        sandboxes.life().finishRemoval(row);
      }
    }
  }

  private Map<SandboxId, Machine> machines() {
    var machines = new HashMap<SandboxId, Machine>();
    for (Engine engine : engines.allowed()) {
      engine.recover().forEach(machine -> machines.put(machine.id(), machine));
    }
    return machines;
  }

  private void adopt(Sandbox row, Machine machine, List<RunningSandbox> adopted) {
    try {
      adopted.add(sandboxes.life().adopt(row, machine));
    } catch (RuntimeException e) {
      LOG.warn("sandbox {} could not be taken over", row.id(), e);
      fail(row, machine, Failures.lost());
    }
  }

  private void fail(Sandbox row, @Nullable Machine machine, Failure reason) {
    boolean starting = row.status() == SandboxStatus.CREATING;
    Failure failure =
        machine == null || starting ? reason : machine.death().map(Failures::of).orElse(reason);
    end(row, machine);
    sandboxes.life().fail(row, failure);
  }

  /** One that does not end remains: until it does, no other takes its place or its volume. */
  private void end(Sandbox row, @Nullable Machine machine) {
    if (machine != null) {
      sandboxes.life().end(row, machine);
    }
  }

  private static void destroy(Machine orphan) {
    try {
      orphan.destroy();
    } catch (RuntimeException e) {
      // A loop's end: the next start finds it again.
      LOG.warn("sandbox {} could not be ended: {}", orphan.id(), e.toString());
    }
  }
}
