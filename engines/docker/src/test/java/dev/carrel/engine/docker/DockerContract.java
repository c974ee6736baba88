package dev.carrel.engine.docker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.engine.testkit.EngineContract;
import dev.carrel.spi.DaemonSettings;
import dev.carrel.spi.Engine;
import dev.carrel.spi.EngineSettings;
import java.io.IOException;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;

/** The contract with a daemon that the tests start themselves. */
abstract class DockerContract extends EngineContract {
  private static @Nullable OwnDaemon own;

  private final Kind kind;

  DockerContract(Kind kind) {
    this.kind = kind;
  }

  @BeforeAll
  static void startDaemon() throws IOException {
    own = OwnDaemon.start();
  }

  @AfterAll
  static void stopDaemon() throws IOException {
    try {
      assertThat(ownDaemon().client().list(Map.of())).isEmpty();
    } finally {
      ownDaemon().close();
    }
  }

  static OwnDaemon ownDaemon() {
    if (own == null) {
      throw new IllegalStateException("no daemon was started");
    }
    return own;
  }

  @Override
  protected DaemonSettings daemon() {
    return ownDaemon().settings();
  }

  @Override
  protected Engine openEngine(EngineSettings settings) {
    return new DockerEngine(kind, settings);
  }

  @Override
  protected boolean isolates() {
    return true;
  }

  @Override
  protected boolean keepsVolumes() {
    return kind.keepsVolumes();
  }

  /** Neither of an earlier test nor of the probe that this one's engine has just made. */
  @BeforeEach
  void noContainerIsLeft() throws IOException {
    assertThat(ownDaemon().client().list(Map.of())).isEmpty();
  }
}
