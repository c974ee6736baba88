package dev.carrel.dist.config;

import dev.carrel.control.transfer.TransferSettings;
import dev.carrel.spi.SandboxException;
import java.nio.file.Path;
import java.util.List;

/** The keys of {@link TransferSettings}. */
final class TransferKeys {
  private TransferKeys() {}

  static TransferSettings read(Settings settings) {
    TransferSettings usual = TransferSettings.defaults();
    List<Path> folders =
        settings
            .list("import.host-folders", usual.hostFolders().stream().map(Path::toString).toList())
            .stream()
            .map(Path::of)
            .toList();
    if (!folders.stream().allMatch(Path::isAbsolute)) {
      throw new ConfigurationException("import.host-folders must have absolute paths");
    }
    try {
      return new TransferSettings(
          folders,
          settings.size("import.max-size", usual.maxSize()),
          settings.number("import.max-files", usual.maxFiles(), 1, 1_000_000),
          settings.number("import.max-ratio", usual.maxRatio(), 1, 10_000),
          settings.size("import.max-fetch", usual.maxFetch()),
          settings.duration("export.link-time", usual.linkTime()),
          settings.duration("import.upload-time", usual.uploadTime()));
    } catch (SandboxException e) {
      throw new ConfigurationException("export." + e.message());
    }
  }
}
