package dev.carrel.control.store;

import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.io.IOException;
import java.io.UncheckedIOException;

/** Tells a full disk of the server from what else can happen to a file of its own. */
public final class DiskFailures {
  private DiskFailures() {}

  /**
   * @param what could not be done, such as {@code cannot write vault.seal}
   */
  public static RuntimeException explained(String what, IOException failure) {
    return isFull(failure)
        ? new SandboxException(
                ErrorCode.NO_SPACE, what + ": no space is left on the server's disk", failure)
            .withHint(
                "free space on the file system of storage.data-directory and of"
                    + " storage.run-directory, then try again")
        : new UncheckedIOException(what, failure);
  }

  public static boolean isFull(IOException failure) {
    String message = String.valueOf(failure.getMessage());
    return message.contains("No space left on device") || message.contains("Disk quota exceeded");
  }
}
