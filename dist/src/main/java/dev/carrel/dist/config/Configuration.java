package dev.carrel.dist.config;

import dev.carrel.control.ControlSettings;
import dev.carrel.server.ServerSettings;
import dev.carrel.server.grpc.GrpcSettings;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Everything the operator can set, read and checked.
 *
 * @param keys every key with its default
 */
public record Configuration(
    ServerSettings server,
    GrpcSettings grpc,
    StorageConfig storage,
    EngineConfig engine,
    ControlSettings control,
    LogConfig log,
    SortedMap<String, String> keys) {

  public Configuration {
    keys = Collections.unmodifiableSortedMap(new TreeMap<>(keys));
  }

  /**
   * @param named a settings file asked for by name
   * @param flags settings of the command line
   */
  public static Configuration load(
      Environment environment, Optional<Path> named, Map<String, String> flags) {
    return from(settings(environment, named, flags), environment);
  }

  /** Every setting as it is in force; what {@link #load} refuses is refused here too. */
  public static List<Setting> list(
      Environment environment, Optional<Path> named, Map<String, String> flags) {
    Settings settings = settings(environment, named, flags);
    from(settings, environment);
    return settings.all();
  }

  private static Settings settings(
      Environment environment, Optional<Path> named, Map<String, String> flags) {
    named.ifPresent(
        file -> {
          if (!Files.isReadable(file)) {
            throw new ConfigurationException("cannot read the settings file " + file);
          }
        });
    Optional<Path> file =
        named.or(() -> Optional.of(environment.configurationFile()).filter(Files::isReadable));
    return Settings.of(file, environment.settings(), flags);
  }

  static Configuration from(Settings settings, Environment environment) {
    ServerSettings server = ServerKeys.read(settings);
    EngineConfig engine = EngineConfig.from(settings, environment);
    StorageConfig storage = StorageConfig.from(settings, environment);
    var configuration =
        new Configuration(
            server,
            GrpcKeys.read(settings, server),
            storage,
            engine,
            new ControlSettings(
                storage.data(),
                environment.libDirectory(),
                SandboxKeys.read(settings, engine),
                PoolKeys.read(settings),
                ExecKeys.read(settings),
                ContextKeys.read(settings),
                FileKeys.read(settings),
                IdempotencyKeys.read(settings),
                QueueKeys.read(settings),
                AuditKeys.read(settings),
                EgressKeys.read(settings, storage, environment),
                VaultKeys.read(environment),
                ArtifactKeys.read(settings),
                ImageKeys.read(settings),
                WebKeys.read(settings),
                PackageKeys.read(settings),
                HostKeys.read(settings, environment),
                TransferKeys.read(settings)),
            LogConfig.from(settings),
            new TreeMap<>(settings.knownKeys()));
    settings.requireAllKnown();
    return configuration;
  }
}
