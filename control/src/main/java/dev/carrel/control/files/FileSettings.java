package dev.carrel.control.files;

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
  public static FileSettings defaults() {
    return new FileSettings(
        DataSize.ofMebibytes(1024), 10_000, 10_000, 100_000, DataSize.ofMebibytes(4096));
  }
}
