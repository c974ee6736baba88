package dev.carrel.control.transfer;

import dev.carrel.spi.SandboxException;
import org.jspecify.annotations.Nullable;

/**
 * What came of one path that somebody wanted to export.
 *
 * @param path absolute, inside the sandbox; as it was asked for when it cannot be
 * @param link null when it failed
 * @param size of the file, or of all files in the folder; null when they are too many to look at
 */
public record Exported(
    String path,
    Export.@Nullable Link link,
    boolean folder,
    @Nullable Long size,
    @Nullable SandboxException failure) {
  public boolean success() {
    return failure == null;
  }
}
