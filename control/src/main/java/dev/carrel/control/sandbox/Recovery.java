package dev.carrel.control.sandbox;

import dev.carrel.spi.Engine;
import dev.carrel.spi.Machine;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Brings rows and machines together after a start: whatever state the last process died in,
 * afterwards each running row has a machine and each machine a running row.
 */
public final class Recovery {
  private static final Logger LOG = LoggerFactory.getLogger(Recovery.class);

  private final Sandboxes sandboxes;
  private final Engines engines;

  public Recovery(Sandboxes sandboxes, Engines engines) {
    this.sandboxes = sandboxes;
    this.engines = engines;
  }

  /** Returns the sandboxes that run on. */
  public List<RunningSandbox> run() {
    Map<SandboxId, Machine> machines = machines();
    var adopted = new ArrayList<RunningSandbox>();
    for (Sandbox row : sandboxes.store().all()) {
      Machine machine = machines.remove(row.id());
      switch (row.status()) {
        case RUNNING -> {
          if (machine != null && machine.death().isEmpty()) {
            adopted.add(sandboxes.adopt(row, machine));
          } else {
            fail(row, machine, Failures.lost());
          }
        }
        case CREATING -> fail(row, machine, Failures.startInterrupted());
        case STOPPED, FAILED -> destroy(machine);
        case DESTROYED -> {
          destroy(machine);
          sandboxes.finishRemoval(row);
        }
      }
    }
    for (Machine orphan : machines.values()) {
      LOG.info("sandbox {} belongs to nobody: ended", orphan.id());
      destroy(orphan);
    }
    return adopted;
  }

  private Map<SandboxId, Machine> machines() {
    var machines = new HashMap<SandboxId, Machine>();
    for (Engine engine : engines.usable()) {
      engine.recover().forEach(machine -> machines.put(machine.id(), machine));
    }
    return machines;
  }

  private void fail(Sandbox row, @Nullable Machine machine, Failure reason) {
    Failure failure =
        machine == null || reason.cause().equals("start_failed")
            ? reason
            : machine.death().map(Failures::of).orElse(reason);
    sandboxes.store().transition(row, row.withStatus(SandboxStatus.FAILED, Instant.now(), failure));
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
