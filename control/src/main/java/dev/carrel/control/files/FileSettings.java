package dev.carrel.control.files;

import dev.carrel.guest.GuestFiles;
import dev.carrel.spi.DataSize;

/**
 * Limits of file calls.
 *
 * @param maxUpload of one write
 * @param maxEntries of one listing
 * @param maxZipEntries of one archive
 * @param maxZip of the files in one archive, before compression
 */
public record FileSettings(
    DataSize maxUpload, int maxEntries, int maxMatches, int maxZipEntries, DataSize maxZip) {
  /** How much a guest tells at once of a folder or a search, whatever the settings allow. */
  public static final int MOST = GuestFiles.MAX_ENTRIES;

  public static FileSettings defaults() {
    return new FileSettings(
        DataSize.ofMebibytes(1024), 10_000, 10_000, 100_000, DataSize.ofMebibytes(4096));
  }
}
