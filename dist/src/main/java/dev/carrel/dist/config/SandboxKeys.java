package dev.carrel.dist.config;

import dev.carrel.control.sandbox.LifeSettings;
import dev.carrel.control.sandbox.SandboxSettings;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The keys of {@link SandboxSettings}; which engines there are is {@link EngineConfig}'s. */
final class SandboxKeys {
  private static final int MANY = 1 << 20;

  private SandboxKeys() {}

  static SandboxSettings read(Settings settings, EngineConfig engines) {
    SandboxSettings usual = SandboxSettings.defaults();
    return new SandboxSettings(
        engines.preferred(),
        engines.allowed(),
        settings.text("sandbox.image", usual.defaultImage()),
        images(settings),
        settings.number("sandbox.memory-mb", (int) usual.memoryMb(), 16, Integer.MAX_VALUE),
        settings.decimal("sandbox.cpu-cores", usual.cpuCores(), 0.01, 1024),
        settings.number("sandbox.disk-mb", (int) usual.diskMb(), 1, Integer.MAX_VALUE),
        settings.number("sandbox.pids", usual.pids(), 8, MANY),
        settings.number("sandbox.open-files", usual.openFiles(), 64, MANY),
        settings.duration("sandbox.idle-timeout", usual.idleTimeout()),
        settings.duration("sandbox.max-idle-timeout", usual.maxIdleTimeout()),
        settings.number("sandbox.max-memory-mb", (int) usual.maxMemoryMb(), 16, Integer.MAX_VALUE),
        settings.decimal("sandbox.max-cpu-cores", usual.maxCpuCores(), 0.01, 1024),
        settings.number("sandbox.max-disk-mb", (int) usual.maxDiskMb(), 1, Integer.MAX_VALUE),
        settings.number("sandbox.max-pids", usual.maxPids(), 8, MANY),
        settings.number("sandbox.max-count", usual.maxSandboxes(), 1, MANY),
        settings.number("sandbox.max-count-per-tenant", usual.maxSandboxesPerTenant(), 1, MANY),
        settings.duration("sandbox.stopped-retention", usual.stoppedRetention()),
        settings.duration("sandbox.watch-interval", usual.watchInterval()),
        life(settings, usual.life()));
  }

  private static LifeSettings life(Settings settings, LifeSettings usual) {
    return new LifeSettings(
        settings.duration("sandbox.start-timeout", usual.startTimeout()),
        settings.duration("sandbox.stop-grace", usual.stopGrace()),
        settings.duration("sandbox.max-life", usual.maxLife()),
        settings.duration("sandbox.warning", usual.warning()),
        settings.flag("sandbox.evict-when-full", usual.evictWhenFull()),
        settings.duration("sandbox.orphan-min-age", usual.orphanMinAge()),
        settings.choice("sandbox.on-shutdown", usual.onShutdown()),
        settings.number(
            "volume.max-mb-per-tenant", (int) usual.maxVolumeMbPerTenant(), 1, Integer.MAX_VALUE));
  }

  /** Named root file systems, as {@code debian=/srv/debian, alpine=/srv/alpine}. */
  private static Map<String, Path> images(Settings settings) {
    var images = new HashMap<String, Path>();
    for (String image : settings.list("sandbox.images", List.of())) {
      int equals = image.indexOf('=');
      if (equals < 1 || !image.startsWith("/", equals + 1)) {
        throw new ConfigurationException(
            "sandbox.images must be a list such as debian=/srv/debian, but has '" + image + "'");
      }
      images.put(image.substring(0, equals), Path.of(image.substring(equals + 1)));
    }
    return images;
  }
}
