package dev.carrel.dist.config;

import dev.carrel.control.ControlSettings;
import dev.carrel.server.ServerSettings;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Everything the operator can set, read and checked. */
public record Configuration(
    ServerSettings server,
    StorageConfig storage,
    EngineConfig engine,
    ControlSettings control,
    LogConfig log,
    List<String> keys) {

  public Configuration {
    keys = List.copyOf(keys);
  }

  /**
   * @param named a settings file asked for by name
   * @param flags settings of the command line
   */
  public static Configuration load(
      Environment environment, Optional<Path> named, Map<String, String> flags) {
    named.ifPresent(
        file -> {
          if (!Files.isReadable(file)) {
            throw new ConfigurationException("cannot read the settings file " + file);
          }
        });
    Optional<Path> file =
        named.or(() -> Optional.of(environment.configurationFile()).filter(Files::isReadable));
    return from(Settings.of(file, environment.settings(), flags), environment);
  }

  static Configuration from(Settings settings, Environment environment) {
    EngineConfig engine = EngineConfig.from(settings);
    StorageConfig storage = StorageConfig.from(settings, environment);
    var configuration =
        new Configuration(
            ServerKeys.read(settings),
            storage,
            engine,
            new ControlSettings(
                storage.data(),
                environment.libDirectory(),
                SandboxKeys.read(settings, engine),
                ExecKeys.read(settings),
                ContextKeys.read(settings),
                FileKeys.read(settings)),
            LogConfig.from(settings),
            settings.knownKeys());
    settings.requireAllKnown();
    return configuration;
  }
}
