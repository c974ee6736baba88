package dev.carrel.spi;

/** A number of bytes. */
public record DataSize(long bytes) implements Comparable<DataSize> {
  private static final long MIB = 1024L * 1024L;

  public DataSize {
    if (bytes < 0) {
      throw new IllegalArgumentException("negative size: " + bytes);
    }
  }

  public static DataSize ofMebibytes(long mebibytes) {
    return new DataSize(Math.multiplyExact(mebibytes, MIB));
  }

  public static DataSize ofKibibytes(long kibibytes) {
    return new DataSize(Math.multiplyExact(kibibytes, 1024L));
  }

  public long mebibytes() {
    return bytes / MIB;
  }

  @Override
  public int compareTo(DataSize other) {
    return Long.compare(bytes, other.bytes);
  }
}
