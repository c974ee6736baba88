package dev.carrel.engine.docker;

import dev.carrel.engine.testkit.HardeningContract;
import dev.carrel.spi.Engine;
import dev.carrel.spi.EngineSettings;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The lines of hardening in a container: those of the engine {@code native}. */
abstract class DockerHardening extends HardeningContract {
  @RegisterExtension static final OwnDaemon DAEMON = new OwnDaemon();

  private final Kind kind;

  DockerHardening(Kind kind) {
    this.kind = kind;
  }

  @Override
  protected Engine openEngine(EngineSettings settings) {
    return new DockerEngine(
        kind,
        new EngineSettings(
            settings.runDirectory(),
            settings.volumeDirectory(),
            settings.libDirectory(),
            settings.allowMissing(),
            settings.warm(),
            DAEMON.settings()));
  }

  @Override
  protected boolean ownKernel() {
    return kind == Kind.GVISOR;
  }

  /** A daemon takes no options for them. */
  @Override
  protected boolean boundsTerminals() {
    return false;
  }

  /** A daemon cannot be told; no_new_privs and ids that are not mapped make that needless. */
  @Override
  protected boolean refusesOwners() {
    return false;
  }

  /** Two are the guest's alone; the one below /sys, which gVisor has not, lies under a mask. */
  @Override
  protected Set<String> writableMounts() {
    var all = new HashSet<>(Set.of("/dev", "/proc", "/run/carrel/guest", "/tmp", "/workspace"));
    if (!ownKernel()) {
      all.add("/sys/fs/cgroup");
    }
    return all;
  }

  @Override
  protected Set<String> devices() {
    var all = new HashSet<>(super.devices());
    all.addAll(ownKernel() ? Set.of("fuse", "net") : Set.of("mqueue"));
    return all;
  }
}
