package dev.carrel.control;

import dev.carrel.control.context.Contexts;
import dev.carrel.control.exec.Execs;
import dev.carrel.control.files.Files;
import dev.carrel.control.sandbox.Engines;
import dev.carrel.control.sandbox.Sandboxes;
import dev.carrel.control.telemetry.Telemetry;
import dev.carrel.spi.Engine;
import java.util.List;

/**
 * The control plane, assembled. Opening it finds the sandboxes of an earlier process again; closing
 * it leaves them running.
 */
public final class Control implements AutoCloseable {
  private Control() {}

  public static Control open(ControlSettings settings, List<Engine> engines) {
    throw new UnsupportedOperationException();
  }

  public Sandboxes sandboxes() {
    throw new UnsupportedOperationException();
  }

  public Execs execs() {
    throw new UnsupportedOperationException();
  }

  public Contexts contexts() {
    throw new UnsupportedOperationException();
  }

  public Files files() {
    throw new UnsupportedOperationException();
  }

  public Engines engines() {
    throw new UnsupportedOperationException();
  }

  public Telemetry telemetry() {
    throw new UnsupportedOperationException();
  }

  @Override
  public void close() {
    throw new UnsupportedOperationException();
  }
}
