package dev.carrel.spi;

/** Makes a workshop; found with {@link java.util.ServiceLoader}. */
public interface WorkshopProvider {
  /** Never throws for a host that lacks something: {@link Workshop#problem} says so. */
  Workshop create(EngineSettings settings);
}
