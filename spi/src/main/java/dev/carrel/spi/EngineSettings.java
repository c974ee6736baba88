package dev.carrel.spi;

import java.nio.file.Path;
import java.util.Set;

/**
 * What every engine is told at its start.
 *
 * @param runDirectory short-lived state and sockets; short enough for a socket path; survives the
 *     server, not a reboot
 * @param volumeDirectory where volumes are kept; survives a reboot
 * @param libDirectory the distribution's own programs: {@code guest} (the static binary) and {@code
 *     kernels/}
 * @param allowMissing names of {@link Isolation.Measure}s whose absence the operator accepts; each
 *     is reported
 */
public record EngineSettings(
    Path runDirectory, Path volumeDirectory, Path libDirectory, Set<String> allowMissing) {
  public EngineSettings {
    allowMissing = Set.copyOf(allowMissing);
  }
}
