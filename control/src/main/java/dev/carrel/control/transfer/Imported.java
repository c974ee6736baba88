package dev.carrel.control.transfer;

import dev.carrel.spi.SandboxException;
import org.jspecify.annotations.Nullable;

/**
 * What came of one import.
 *
 * @param destination absolute, inside the sandbox
 * @param size bytes of all its files
 * @param skipped links and the like, which were left out of a folder
 * @param failure why it is not there, or not all of it; null: it is
 */
public record Imported(
    String source,
    String destination,
    long files,
    long size,
    long skipped,
    @Nullable SandboxException failure) {
  public boolean success() {
    return failure == null;
  }
}
