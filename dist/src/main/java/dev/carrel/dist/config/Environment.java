package dev.carrel.dist.config;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * The surroundings of this process. The only place that reads variables and system properties.
 *
 * @param home the distribution's folder: lib, libexec
 */
public record Environment(Map<String, String> variables, Path home, Path userHome, boolean root) {
  public Environment {
    variables = Map.copyOf(variables);
  }

  public static Environment ofThisProcess() {
    String home = System.getProperty("carrel.home");
    if (home == null) {
      throw new ConfigurationException("start Carrel with its own script: carrel.home is not set");
    }
    return new Environment(
        System.getenv(),
        Path.of(home),
        userHome(System.getenv(), System.getProperty("user.home", "/")),
        effectiveUserIsRoot());
  }

  /**
   * As a shell takes ~.
   *
   * @param listed what the list of users says
   */
  static Path userHome(Map<String, String> variables, String listed) {
    Path said = Path.of(variables.getOrDefault("HOME", ""));
    return said.isAbsolute() ? said : Path.of(listed);
  }

  public Optional<String> variable(String name) {
    return Optional.ofNullable(variables.get(name)).filter(value -> !value.isEmpty());
  }

  /** Those of the named ones that are set. */
  Map<String, String> variables(Collection<String> names) {
    var some = new TreeMap<String, String>();
    for (String name : names) {
      variable(name).ifPresent(value -> some.put(name, value));
    }
    return some;
  }

  /** The guest and the kernels. */
  Path libDirectory() {
    return home.resolve("libexec");
  }

  /** The variables that may be settings. */
  Map<String, String> settings() {
    var ours = new TreeMap<>(variables);
    ours.keySet()
        .removeIf(
            name ->
                !name.startsWith("CARREL_")
                    || name.equals(VaultKeys.KEY)
                    || name.startsWith(VaultKeys.SECRET));
    return ours;
  }

  Path dataHome() {
    return root
        ? Path.of("/var/lib/carrel")
        : xdg("XDG_DATA_HOME", userHome.resolve(".local/share")).resolve("carrel");
  }

  Path runHome() {
    if (root) {
      return Path.of("/run/carrel");
    }
    // Without a login session there is no /run/user; a private folder beside the data does.
    return variable("XDG_RUNTIME_DIR")
        .map(Path::of)
        .filter(Files::isWritable)
        .map(run -> run.resolve("carrel"))
        .orElseGet(() -> dataHome().resolve("run"));
  }

  /** Where the file of settings is looked for, unless one is named. */
  Path configurationFile() {
    return root
        ? Path.of("/etc/carrel/carrel.properties")
        : xdg("XDG_CONFIG_HOME", userHome.resolve(".config")).resolve("carrel/carrel.properties");
  }

  private Path xdg(String name, Path otherwise) {
    // The rules say that a relative path there is to be ignored.
    return variable(name).map(Path::of).filter(Path::isAbsolute).orElse(otherwise);
  }

  private static boolean effectiveUserIsRoot() {
    try {
      return Files.getAttribute(Path.of("/proc/self"), "unix:uid") instanceof Integer uid
          && uid == 0;
    } catch (java.io.IOException e) {
      throw new ConfigurationException("cannot read /proc/self: is /proc mounted?");
    }
  }
}
