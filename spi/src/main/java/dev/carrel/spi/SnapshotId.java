package dev.carrel.spi;

/** Names one snapshot. Unguessable; fits a DNS label and a file name. */
public record SnapshotId(String value) {
  private static final String PREFIX = "sn";

  public SnapshotId {
    Ids.check(PREFIX, value, ErrorCode.SNAPSHOT_NOT_FOUND);
  }

  public static SnapshotId random() {
    return new SnapshotId(Ids.random(PREFIX));
  }

  @Override
  public String toString() {
    return value;
  }
}
