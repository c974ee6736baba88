package dev.carrel.image;

import dev.carrel.spi.DataSize;

/**
 * What an image may cost.
 *
 * @param maxSize of the files of all its layers that are not here already, unpacked
 * @param maxFiles entries of the same layers, and folders that are only in their names
 * @param maxRatio how much larger than its compressed form a layer may be
 */
public record ImageLimits(DataSize maxSize, int maxFiles, int maxRatio) {
  /** More layers than any builder writes. */
  static final int MAX_LAYERS = 256;

  /** Manifests and configurations. */
  static final int MAX_JSON = 4 << 20;

  public static ImageLimits defaults() {
    return new ImageLimits(DataSize.ofMebibytes(20 * 1024), 1_000_000, 250);
  }
}
