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
 * @param warm for engines that fork warm interpreters
 * @param daemon for engines that need a daemon
 */
public record EngineSettings(
    Path runDirectory,
    Path volumeDirectory,
    Path libDirectory,
    Set<String> allowMissing,
    WarmSettings warm,
    DaemonSettings daemon) {
  public EngineSettings {
    allowMissing = Set.copyOf(allowMissing);
  }

  public EngineSettings(
      Path runDirectory, Path volumeDirectory, Path libDirectory, Set<String> allowMissing) {
    this(
        runDirectory,
        volumeDirectory,
        libDirectory,
        allowMissing,
        WarmSettings.defaults(),
        DaemonSettings.usual());
  }
}
