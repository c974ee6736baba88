package dev.carrel.spi;

import java.nio.file.Path;
import java.util.Map;

/**
 * Where engines that need a daemon of containers look for it.
 *
 * @param host a path or {@code unix://} and a path; empty: as the daemon's own tools look for it
 * @param variables what those tools would find in their environment
 * @param home where they would look for the settings of their user
 */
public record DaemonSettings(String host, Map<String, String> variables, Path home) {
  public DaemonSettings {
    variables = Map.copyOf(variables);
  }

  /** The usual places of a host, nobody's own. */
  public static DaemonSettings usual() {
    return new DaemonSettings("", Map.of(), Path.of("/nonexistent"));
  }
}
