package dev.carrel.image;

import java.net.InetAddress;
import java.net.URI;
import java.util.Optional;

/** Where a registry may lead us, beside its own host. Safe for many threads. */
public interface Reach {
  /** Nowhere. */
  Reach NOTHING = (place, _) -> Optional.of(place.getHost() + " is not the registry's own host");

  /**
   * Why we do not go there; empty: we do.
   *
   * @param address of the place's host, one of maybe several
   */
  Optional<String> refusal(URI place, InetAddress address);
}
