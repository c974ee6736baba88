package dev.carrel.control.artifact;

import dev.carrel.spi.DataSize;

/**
 * Bounds of what is read and signed at once.
 *
 * @param maxFile of one file
 * @param maxTotal of all files of one exec or request
 * @param maxFiles of one exec or request
 */
public record ArtifactSettings(DataSize maxFile, DataSize maxTotal, int maxFiles) {
  public static ArtifactSettings defaults() {
    return new ArtifactSettings(DataSize.ofMebibytes(256), DataSize.ofMebibytes(1024), 256);
  }
}
