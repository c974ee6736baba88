package dev.carrel.control.files;

import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * How to write a file. Missing folders on the way are made.
 *
 * @param size expected bytes; null when unknown
 * @param mode permission bits
 * @param ifAbsent fail with FILE_EXISTS when there is one
 * @param ifMatch fail with PRECONDITION_FAILED unless the file has this ETag
 * @param attributes kept beside the content until the file is written anew
 */
public record WriteFile(
    @Nullable Long size,
    int mode,
    boolean append,
    boolean ifAbsent,
    @Nullable String ifMatch,
    Map<String, String> attributes) {
  public WriteFile(
      @Nullable Long size, int mode, boolean append, boolean ifAbsent, @Nullable String ifMatch) {
    this(size, mode, append, ifAbsent, ifMatch, Map.of());
  }

  public static WriteFile plain() {
    return new WriteFile(null, 0644, false, false, null);
  }

  public WriteFile withSize(@Nullable Long newSize) {
    return new WriteFile(newSize, mode, append, ifAbsent, ifMatch, attributes);
  }

  public WriteFile withAttributes(Map<String, String> newAttributes) {
    return new WriteFile(size, mode, append, ifAbsent, ifMatch, newAttributes);
  }
}
