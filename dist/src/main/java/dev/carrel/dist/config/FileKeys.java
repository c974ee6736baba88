package dev.carrel.dist.config;

import dev.carrel.control.files.FileSettings;

/** The keys of {@link FileSettings}. */
final class FileKeys {
  private FileKeys() {}

  static FileSettings read(Settings settings) {
    FileSettings usual = FileSettings.defaults();
    return new FileSettings(
        settings.size("file.max-upload", usual.maxUpload()),
        settings.number("file.max-entries", usual.maxEntries(), 1, FileSettings.MOST),
        settings.number("file.max-matches", usual.maxMatches(), 1, FileSettings.MOST),
        settings.number("file.max-zip-entries", usual.maxZipEntries(), 1, FileSettings.MOST),
        settings.size("file.max-zip", usual.maxZip()));
  }
}
