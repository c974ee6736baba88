package dev.carrel.control.files;

import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import org.jspecify.annotations.Nullable;

/**
 * A part of a file, as HTTP says it.
 *
 * @param first null: the last {@code last} bytes
 * @param last inclusive; null: to the end
 */
public record ByteRange(@Nullable Long first, @Nullable Long last) {
  public ByteRange {
    boolean negative = (first != null && first < 0) || (last != null && last < 0);
    if (negative || (first == null && last == null)) {
      throw SandboxException.invalid("range", "is not a range of bytes");
    }
    if (first != null && last != null && last < first) {
      throw SandboxException.invalid("range", "ends before it begins");
    }
  }

  /** The part of a file of this size. */
  Slice within(long size) {
    if (first == null) {
      long length = Math.min(last == null ? 0 : last, size);
      if (length == 0) {
        throw outside(size);
      }
      return new Slice(size - length, length);
    }
    if (first >= size) {
      throw outside(size);
    }
    long end = last == null || last >= size ? size : last + 1;
    return new Slice(first, end - first);
  }

  private static SandboxException outside(long size) {
    return new SandboxException(
        ErrorCode.RANGE_NOT_SATISFIABLE, "the file has only " + size + " bytes");
  }

  record Slice(long offset, long length) {}
}
