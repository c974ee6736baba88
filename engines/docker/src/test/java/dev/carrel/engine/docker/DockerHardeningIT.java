package dev.carrel.engine.docker;

import dev.carrel.engine.testkit.HardeningContract;
import dev.carrel.spi.Engine;
import dev.carrel.spi.EngineSettings;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The lines of hardening in a container: those of the engine {@code native}. */
final class DockerHardeningIT extends HardeningContract {
  @RegisterExtension static final OwnDaemon DAEMON = new OwnDaemon();

  @Override
  protected Engine openEngine(EngineSettings settings) {
    return new DockerEngineProvider()
        .create(
            new EngineSettings(
                settings.runDirectory(),
                settings.volumeDirectory(),
                settings.libDirectory(),
                settings.allowMissing(),
                settings.warm(),
                DAEMON.settings()));
  }

  /** A daemon cannot be told; no_new_privs and ids that are not mapped make that needless. */
  @Override
  protected boolean refusesOwners() {
    return false;
  }

  /** Two are the guest's alone; the one below /sys lies under a mask. */
  @Override
  protected Set<String> writableMounts() {
    return Set.of("/dev", "/proc", "/run/carrel/guest", "/tmp", "/workspace", "/sys/fs/cgroup");
  }

  @Override
  protected Set<String> devices() {
    var all = new HashSet<>(super.devices());
    all.add("mqueue");
    return all;
  }
}
