package dev.carrel.control.sandbox;

import dev.carrel.spi.Capabilities;
import dev.carrel.spi.Engine;
import java.util.List;

/** The engines of this server. Owns them: closing it closes them. */
public final class Engines implements AutoCloseable {
  private final List<Engine> engines;

  public Engines(List<Engine> engines, SandboxSettings settings) {
    this.engines = List.copyOf(engines);
  }

  /** What each engine can do, for doctors and health pages. */
  public List<Capabilities> capabilities() {
    return engines.stream().map(Engine::capabilities).toList();
  }

  @Override
  public void close() {
    engines.forEach(Engine::close);
  }
}
