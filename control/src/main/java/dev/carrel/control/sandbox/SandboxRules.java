package dev.carrel.control.sandbox;

import dev.carrel.spi.DataSize;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.Limits;
import dev.carrel.spi.RootImage;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.Text;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** What may be asked of a sandbox: defaults applied, bounds checked, the field at fault named. */
final class SandboxRules {
  private static final int MAX_ENTRIES = 256;
  private static final int MAX_NAME = 256;
  private static final int MAX_VALUE = 32 * 1024;
  private static final int MAX_MAP_CHARS = 256 * 1024;
  private static final int MAX_SESSION_KEY = 256;

  private final Supplier<SandboxSettings> settings;

  private final RootImages others;

  SandboxRules(Supplier<SandboxSettings> settings, RootImages others) {
    this.settings = settings;
    this.others = others;
  }

  /** What {@code image} may be. */
  Set<String> images() {
    var names = new TreeSet<>(settings.get().images().keySet());
    names.add(SandboxSettings.HOST_IMAGE);
    names.addAll(others.names());
    return names;
  }

  String image(@Nullable String asked) {
    String image = asked == null ? settings.get().defaultImage() : asked;
    return find(image).name();
  }

  RootImage root(String image) {
    return find(image).root();
  }

  private RootImages.Found find(String image) {
    if (image.equals(SandboxSettings.HOST_IMAGE)) {
      return new RootImages.Found(image, new RootImage.Host());
    }
    Path folder = settings.get().images().get(image);
    if (folder != null) {
      return new RootImages.Found(image, new RootImage.Folder(folder));
    }
    return others
        .find(image)
        .orElseThrow(
            () ->
                new SandboxException(
                        ErrorCode.IMAGE_NOT_FOUND,
                        "image: there is no '"
                            + Text.printable(image, 128)
                            + "'; one of "
                            + images())
                    .withHint("an administrator can get it with 'carrel images pull' or 'build'"));
  }

  Limits limits(CreateSandbox.Size asked) {
    return limits(
        orElse(asked.memoryMb(), settings.get().memoryMb()),
        orElse(asked.cpuCores(), settings.get().cpuCores()),
        orElse(asked.diskMb(), settings.get().diskMb()),
        orElse(asked.pids(), settings.get().pids()));
  }

  /**
   * As {@link #limits(CreateSandbox.Size)}, with the disk of the snapshot to begin with.
   *
   * @param snapshot null: none
   */
  Limits limits(CreateSandbox.Size asked, @Nullable Snapshot snapshot) {
    Limits limits = limits(asked);
    if (snapshot == null) {
      return limits;
    }
    if (asked.diskMb() != null && asked.diskMb() != snapshot.size().mebibytes()) {
      throw SandboxException.invalid(
          "disk_mb", "the disk of a snapshot keeps its size, " + snapshot.size().mebibytes());
    }
    return new Limits(
        limits.memory(), limits.cpus(), limits.pids(), snapshot.size(), limits.openFiles());
  }

  /**
   * When a new sandbox ends by itself.
   *
   * @param persistent whether its files outlive its machine: what would lose them is no default
   */
  Sandbox.Expiry expiry(CreateSandbox.Expiry asked, boolean persistent) {
    return new Sandbox.Expiry(
        idleTimeout(asked.idleTimeoutSeconds(), settings.get().idleTimeout()),
        orElse(asked.onIdle(), persistent ? OnIdle.STOP : OnIdle.PAUSE),
        maxLife(asked.maxLifeSeconds(), settings.get().life().maxLife()),
        orElse(asked.atEnd(), OnIdle.STOP));
  }

  /** The sandbox as it would be after the change; the disk's size never changes. */
  Sandbox patched(Sandbox now, PatchSandbox patch) {
    Limits old = now.limits();
    CreateSandbox.Size size = patch.size();
    if (size.diskMb() != null && size.diskMb() != old.disk().mebibytes()) {
      throw new SandboxException(
              ErrorCode.WRONG_STATE, "disk_mb: the size of the disk never changes")
          .withHint("create a new sandbox with the size you need");
    }
    // What is not asked for stays as it is, also above what may be asked for by now.
    var limits =
        new Limits(
            size.memoryMb() == null ? old.memory() : memory(size.memoryMb()),
            size.cpuCores() == null ? old.cpus() : cpus(size.cpuCores()),
            size.pids() == null ? old.pids() : pids(size.pids()),
            old.disk(),
            old.openFiles());
    Sandbox.Expiry expiry = now.expiry();
    return now.edit()
        .limits(limits)
        .expiry(
            new Sandbox.Expiry(
                idleTimeout(patch.expiry().idleTimeoutSeconds(), expiry.idleTimeout()),
                orElse(patch.expiry().onIdle(), expiry.onIdle()),
                maxLife(patch.expiry().maxLifeSeconds(), expiry.maxLife()),
                orElse(patch.expiry().atEnd(), expiry.atEnd())))
        .labels(
            patch.envVars() == null ? now.envVars() : environment(patch.envVars()),
            patch.metadata() == null ? now.metadata() : metadata(patch.metadata()))
        .build();
  }

  private Limits limits(long memoryMb, double cpuCores, long diskMb, int pids) {
    atMost("disk_mb", diskMb, settings.get().maxDiskMb());
    return new Limits(
        memory(memoryMb),
        cpus(cpuCores),
        pids(pids),
        DataSize.ofMebibytes(diskMb),
        settings.get().openFiles());
  }

  private DataSize memory(long mebibytes) {
    atMost("memory_mb", mebibytes, settings.get().maxMemoryMb());
    return DataSize.ofMebibytes(mebibytes);
  }

  private double cpus(double cores) {
    double max = settings.get().maxCpuCores();
    if (!(cores <= max)) {
      throw SandboxException.invalid("cpu_cores", "must be at most " + max);
    }
    return cores;
  }

  private int pids(int pids) {
    atMost("pids", pids, settings.get().maxPids());
    return pids;
  }

  private Duration idleTimeout(@Nullable Long seconds, Duration usual) {
    if (seconds == null) {
      return usual;
    }
    long max = settings.get().maxIdleTimeout().toSeconds();
    if (seconds < 0 || seconds > max) {
      throw SandboxException.invalid(
          "idle_timeout_seconds", "must be between 0 (never) and " + max);
    }
    return Duration.ofSeconds(seconds);
  }

  private Duration maxLife(@Nullable Long seconds, Duration usual) {
    if (seconds == null) {
      return usual;
    }
    Duration max = settings.get().life().maxLife();
    if (seconds < 0) {
      throw SandboxException.invalid("max_life_seconds", "must not be negative");
    }
    if (max.isPositive() && (seconds == 0 || seconds > max.toSeconds())) {
      throw SandboxException.invalid(
          "max_life_seconds", "must be between 1 and " + max.toSeconds());
    }
    return Duration.ofSeconds(seconds);
  }

  static Map<String, String> environment(Map<String, String> variables) {
    check("env_vars", variables);
    variables
        .keySet()
        .forEach(
            name -> {
              if (name.indexOf('=') >= 0) {
                throw SandboxException.invalid(
                    "env_vars", "not a variable: " + Text.printable(name, 64));
              }
            });
    return variables;
  }

  static Map<String, String> metadata(Map<String, String> metadata) {
    check("metadata", metadata);
    return metadata;
  }

  static @Nullable String sessionKey(@Nullable String key) {
    if (key != null && (key.isBlank() || key.length() > MAX_SESSION_KEY)) {
      throw SandboxException.invalid(
          "session_key", "must have 1 to " + MAX_SESSION_KEY + " characters");
    }
    return key;
  }

  private static void check(String field, Map<String, String> map) {
    if (map.size() > MAX_ENTRIES) {
      throw SandboxException.invalid(field, "must have at most " + MAX_ENTRIES + " entries");
    }
    long total = 0;
    for (Map.Entry<String, String> entry : map.entrySet()) {
      String name = entry.getKey();
      String value = entry.getValue();
      if (name.isEmpty() || name.length() > MAX_NAME) {
        throw SandboxException.invalid(field, "a name must have 1 to " + MAX_NAME + " characters");
      }
      if (value.length() > MAX_VALUE) {
        throw SandboxException.invalid(
            field, Text.printable(name, 64) + " is longer than " + MAX_VALUE + " characters");
      }
      if (name.indexOf('\0') >= 0 || value.indexOf('\0') >= 0) {
        throw SandboxException.invalid(field, Text.printable(name, 64) + " contains NUL");
      }
      total += name.length() + value.length();
    }
    if (total > MAX_MAP_CHARS) {
      throw SandboxException.invalid(
          field, "must have at most " + MAX_MAP_CHARS + " characters in all");
    }
  }

  private static void atMost(String field, long value, long max) {
    if (value > max) {
      throw SandboxException.invalid(field, "must be at most " + max);
    }
    if (value < 1) {
      throw SandboxException.invalid(field, "must be positive");
    }
  }

  private static <T> T orElse(@Nullable T value, T other) {
    return value == null ? other : value;
  }
}
