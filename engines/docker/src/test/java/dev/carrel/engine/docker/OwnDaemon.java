package dev.carrel.engine.docker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.engine.testkit.DockerDaemon;
import dev.carrel.spi.DaemonSettings;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * A daemon that is there before anything of a class of tests begins and ends after all of it, by
 * when no container may be left. Where {@code carrel.docker.host} names another, such as Podman's,
 * that one is used, and stays.
 */
final class OwnDaemon implements BeforeAllCallback, AfterAllCallback {
  private static final @Nullable String OTHER = System.getProperty("carrel.docker.host");

  private @Nullable DockerDaemon daemon;

  @Override
  public void beforeAll(ExtensionContext context) throws IOException {
    if (OTHER == null) {
      daemon = DockerDaemon.start();
    }
  }

  @Override
  public void afterAll(ExtensionContext context) throws IOException {
    try (DockerDaemon _ = daemon) {
      assertThat(client().list(Map.of())).isEmpty();
    }
  }

  DaemonSettings settings() {
    String host = OTHER != null ? OTHER : Objects.requireNonNull(daemon, "not started").host();
    return new DaemonSettings(host, Map.of(), Path.of("/nonexistent"));
  }

  Daemon client() {
    return Daemon.of(settings());
  }
}
