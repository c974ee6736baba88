package dev.carrel.control.sandbox;

import dev.carrel.spi.RootImage;
import java.util.Optional;
import java.util.Set;

/** Images that came to this server while it runs, beside those that its settings name. */
public interface RootImages {
  /** Those that a sandbox can start on now. */
  Set<String> names();

  /** By any of its names; asked for every sandbox, so it must be quick. */
  Optional<Found> find(String asked);

  /**
   * An image to start on.
   *
   * @param name the one that it is listed under
   */
  record Found(String name, RootImage root) {}
}
