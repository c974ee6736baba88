package dev.carrel.dist.config;

import dev.carrel.control.host.CommandPattern;
import dev.carrel.control.host.HostSettings;
import dev.carrel.spi.DataSize;
import dev.carrel.spi.SandboxException;
import java.nio.file.Path;
import java.util.List;

/** The keys of {@link HostSettings}. */
final class HostKeys {
  private static final DataSize MOST = DataSize.ofMebibytes(1024);

  private HostKeys() {}

  static HostSettings read(Settings settings, Environment environment) {
    HostSettings usual = HostSettings.off();
    return new HostSettings(
        settings.flag("host.enabled", usual.enabled()),
        patterns(settings, "host.always-allowed", HostSettings.USUALLY_ALLOWED),
        patterns(settings, "host.blocked", HostSettings.USUALLY_BLOCKED),
        folders(settings, "host.folders", usual.folders()),
        folders(settings, "host.writable-folders", usual.writable()),
        settings.phrases("host.hidden", usual.hidden()),
        folders(settings, "host.path", usual.path()),
        environment.variables(settings.list("host.environment", List.of())),
        settings.duration("host.timeout", usual.timeout()),
        settings.duration("host.max-timeout", usual.maxTimeout()),
        size(settings, "host.max-output", usual.maxOutput()),
        size(settings, "host.max-file", usual.maxFile()),
        settings.number("host.max-concurrent", usual.maxConcurrent(), 1, 64),
        settings.size("host.max-memory", usual.maxMemory()),
        settings.number("host.max-processes", usual.maxProcesses(), 1, 32768));
  }

  private static List<CommandPattern> patterns(
      Settings settings, String key, List<String> otherwise) {
    return settings.phrases(key, otherwise).stream()
        .map(
            text -> {
              try {
                return CommandPattern.parse(text);
              } catch (SandboxException e) {
                throw new ConfigurationException(key + ": '" + text + "': " + e.message());
              }
            })
        .toList();
  }

  private static List<Path> folders(Settings settings, String key, List<Path> otherwise) {
    return settings.phrases(key, otherwise.stream().map(Path::toString).toList()).stream()
        .map(
            text -> {
              Path folder = Path.of(text);
              if (!folder.isAbsolute()) {
                throw new ConfigurationException(key + ": " + text + " is not a whole path");
              }
              return folder.normalize();
            })
        .toList();
  }

  private static DataSize size(Settings settings, String key, DataSize otherwise) {
    DataSize size = settings.size(key, otherwise);
    if (size.bytes() < 1 || size.bytes() > MOST.bytes()) {
      throw new ConfigurationException(key + " must be from 1 to 1GiB");
    }
    return size;
  }
}
