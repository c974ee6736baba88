package dev.carrel.dist.config;

import java.nio.file.Path;
import java.util.Optional;

/**
 * Where things are kept.
 *
 * @param data the database, kept output, the token, the log; survives everything
 * @param run sockets and the state of running sandboxes; survives the server, not a reboot
 */
public record StorageConfig(Path data, Path run) {

  /** The folders of a service for root, those of the XDG rules for everybody else. */
  static StorageConfig from(Settings settings, Environment environment) {
    Optional<Path> data = settings.path("storage.data-directory");
    // A data directory of one's own is a server of one's own: its sockets go there too.
    Path usualRun = data.map(folder -> folder.resolve("run")).orElse(environment.runHome());
    return new StorageConfig(
        data.orElse(environment.dataHome()),
        settings.path("storage.run-directory").orElse(usualRun));
  }
}
