package dev.carrel.control.files;

import org.jspecify.annotations.Nullable;

/**
 * How to write a file. Missing folders on the way are made.
 *
 * @param size expected bytes; null when unknown
 * @param mode permission bits
 * @param ifAbsent fail with FILE_EXISTS when there is one
 * @param ifMatch fail with PRECONDITION_FAILED unless the file has this ETag
 */
public record WriteFile(
    @Nullable Long size, int mode, boolean append, boolean ifAbsent, @Nullable String ifMatch) {
  public static WriteFile plain() {
    return new WriteFile(null, 0644, false, false, null);
  }

  public WriteFile withSize(@Nullable Long newSize) {
    return new WriteFile(newSize, mode, append, ifAbsent, ifMatch);
  }
}
