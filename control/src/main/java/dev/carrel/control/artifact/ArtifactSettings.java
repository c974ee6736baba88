package dev.carrel.control.artifact;

import dev.carrel.spi.DataSize;
import java.time.Duration;

/**
 * Bounds of what is read and signed at once.
 *
 * @param maxFile of one file
 * @param maxTotal of all files of one exec or request
 * @param maxFiles of one exec or request
 * @param maxTime after which no further file is begun: whoever asked waits for all of them
 */
public record ArtifactSettings(
    DataSize maxFile, DataSize maxTotal, int maxFiles, Duration maxTime) {
  public static ArtifactSettings defaults() {
    return new ArtifactSettings(
        DataSize.ofMebibytes(256), DataSize.ofMebibytes(1024), 256, Duration.ofSeconds(30));
  }
}
