package dev.carrel.control.sandbox;

import dev.carrel.spi.Engine;
import dev.carrel.spi.Machine;
import dev.carrel.spi.SandboxException;
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
      switch (row.status()) {
        case RUNNING, PAUSED -> {
          if (machine != null && machine.death().isEmpty()) {
            adopt(row, machine, adopted);
          } else {
            fail(row, machine, Failures.lost());
          }
        }
        case CREATING -> fail(row, machine, Failures.startInterrupted());
        case STOPPED, FAILED -> destroy(machine);
        case DESTROYED -> {
          destroy(machine);
          sandboxes.life().finishRemoval(row);
        }
      }
    }
    for (Machine orphan : machines.values()) {
      LOG.info("sandbox {} belongs to nobody: ended", orphan.id());
      destroy(orphan);
    }
    sandboxes.recoverVolumes();
    return adopted;
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
    } catch (SandboxException e) {
      LOG.warn("sandbox {} could not be taken over: {}", row.id(), e.message());
      fail(row, machine, Failures.lost());
    }
  }

  private void fail(Sandbox row, @Nullable Machine machine, Failure reason) {
    boolean starting = row.status() == SandboxStatus.CREATING;
    Failure failure =
        machine == null || starting ? reason : machine.death().map(Failures::of).orElse(reason);
    Sandbox failed =
        row.edit()
            .status(SandboxStatus.FAILED)
            .ended(sandboxes.life().now(), failure)
            // Nobody was ever told of what never ran: there is nothing in its volume.
            .volume(row.startedAt() == null ? null : row.volume())
            .build();
    sandboxes.store().transition(row, failed, failure.cause());
    destroy(machine);
  }

  private static void destroy(@Nullable Machine machine) {
    if (machine == null) {
      return;
    }
    try {
      machine.destroy();
    } catch (SandboxException e) {
      LOG.warn("sandbox {} could not be ended: {}", machine.id(), e.message());
    }
  }
}
