package dev.carrel.control.sandbox;

import dev.carrel.spi.Engine;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.Machine;
import dev.carrel.spi.MachineSpec;
import dev.carrel.spi.SandboxException;

/** Where the machine of a sandbox comes from. */
final class Machines {
  private final Engines engines;
  private final SandboxRules rules;
  private final WayOut wayOut;

  Machines(Engines engines, SandboxRules rules, WayOut wayOut) {
    this.engines = engines;
    this.rules = rules;
    this.wayOut = wayOut;
  }

  /** A machine for this sandbox and nobody else; returns when its guest answers. */
  Machine obtain(Sandbox row) {
    Sandbox.Volume volume = row.volume();
    var spec =
        new MachineSpec(
            rules.root(row.image()),
            row.limits(),
            wayOut.open(row.id()),
            volume == null ? null : volume.id(),
            row.isolated(),
            row.rootfs());
    try {
      return engine(row.engine()).start(row.id(), spec);
    } catch (RuntimeException e) {
      wayOut.close(row.id());
      throw e;
    }
  }

  private Engine engine(String name) {
    return engines
        .usable(name)
        .orElseThrow(
            () ->
                new SandboxException(
                        ErrorCode.ENGINE_NOT_AVAILABLE,
                        "engine '" + name + "' is no longer usable on this server")
                    .withHint("run 'carrel doctor' to see what is missing"));
  }
}
