package dev.carrel.engine.docker;

import dev.carrel.engine.testkit.FolderImageContract;
import dev.carrel.spi.DaemonSettings;
import dev.carrel.spi.Engine;
import dev.carrel.spi.EngineSettings;
import java.util.Set;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Folders as roots of containers. */
final class DockerFolderImageIT extends FolderImageContract {
  @RegisterExtension static final OwnDaemon DAEMON = new OwnDaemon();

  @Override
  protected DaemonSettings daemon() {
    return DAEMON.settings();
  }

  @Override
  protected Engine openEngine(EngineSettings settings) {
    return new DockerEngineProvider().create(settings);
  }

  /** The places for ours of those files that a daemon puts everywhere. */
  @Override
  protected Set<String> addedToEtc() {
    return Set.of("hosts", "resolv.conf");
  }
}
