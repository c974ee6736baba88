package dev.carrel.spi;

/** Makes an engine; found with {@link java.util.ServiceLoader}. */
public interface EngineProvider {
  /** The engine's name, for example {@code native}. */
  String name();

  /** Never throws for a host that lacks something: the engine's {@link Capabilities} say so. */
  Engine create(EngineSettings settings);
}
