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
 * when no container may be left.
 */
final class OwnDaemon implements BeforeAllCallback, AfterAllCallback {
  private @Nullable DockerDaemon daemon;

  @Override
  public void beforeAll(ExtensionContext context) throws IOException {
    daemon = DockerDaemon.start();
  }

  @Override
  public void afterAll(ExtensionContext context) throws IOException {
    try (DockerDaemon ending = running()) {
      assertThat(ending.containers()).isEqualTo("[]");
    }
  }

  DaemonSettings settings() {
    return new DaemonSettings(running().host(), Map.of(), Path.of("/nonexistent"));
  }

  Daemon client() {
    return Daemon.of(settings());
  }

  private DockerDaemon running() {
    return Objects.requireNonNull(daemon, "the daemon was not started");
  }
}
