package dev.carrel.dist.config;

import dev.carrel.control.sandbox.SandboxSettings;
import dev.carrel.spi.DaemonSettings;
import dev.carrel.spi.WarmSettings;
import java.util.List;
import java.util.Set;

/**
 * Which engines there are.
 *
 * @param preferred used where a sandbox does not name one; {@code auto} is the first that isolates
 *     as strongly as is asked for, {@code native} before all others
 * @param allowed those that may be used at all; {@code process} isolates nothing and must be named
 * @param allowMissing isolation measures whose absence on this host the operator accepts; each
 *     sandbox reports it
 * @param warm how long one warm interpreter is used
 * @param daemon where that of Docker or Podman is
 */
public record EngineConfig(
    String preferred,
    Set<String> allowed,
    Set<String> allowMissing,
    WarmSettings warm,
    DaemonSettings daemon) {
  /** What the tools of Docker look at; nothing else of the environment goes to an engine. */
  private static final Set<String> DOCKER =
      Set.of("DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "XDG_RUNTIME_DIR");

  public EngineConfig {
    allowed = Set.copyOf(allowed);
    allowMissing = Set.copyOf(allowMissing);
    if (!preferred.equals(SandboxSettings.AUTO) && !allowed.contains(preferred)) {
      throw new ConfigurationException(
          "engine.default is '%s', which engine.allowed does not name: %s"
              .formatted(preferred, allowed));
    }
  }

  static EngineConfig from(Settings settings, Environment environment) {
    SandboxSettings usual = SandboxSettings.defaults();
    WarmSettings warm = WarmSettings.defaults();
    return new EngineConfig(
        settings.text("engine.default", usual.defaultEngine()),
        Set.copyOf(
            settings.list("engine.allowed", usual.allowedEngines().stream().sorted().toList())),
        Set.copyOf(settings.list("native.allow-missing", List.of())),
        new WarmSettings(
            settings.number("native.zygote-max-forks", warm.maxForks(), 1, 1 << 20),
            settings.duration("native.zygote-max-age", warm.maxAge()),
            settings.duration("native.zygote-max-idle", warm.maxIdle())),
        daemon(settings, environment));
  }

  private static DaemonSettings daemon(Settings settings, Environment environment) {
    return new DaemonSettings(
        settings.text("docker.host", ""), environment.variables(DOCKER), environment.userHome());
  }
}
