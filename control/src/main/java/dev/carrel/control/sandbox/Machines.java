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

  Machines(Engines engines, SandboxRules rules) {
    this.engines = engines;
    this.rules = rules;
  }

  /** A machine for this sandbox and nobody else; returns when its guest answers. */
  Machine obtain(Sandbox row) {
    Sandbox.Volume volume = row.volume();
    return engine(row.engine())
        .start(
            row.id(),
            new MachineSpec(
                rules.root(row.image()),
                row.limits(),
                null,
                volume == null ? null : volume.id(),
                row.isolated()));
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
