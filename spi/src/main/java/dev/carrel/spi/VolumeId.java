package dev.carrel.spi;

/** Names one volume. Unguessable; fits a DNS label and a file name. */
public record VolumeId(String value) {
  private static final String PREFIX = "vo";

  public VolumeId {
    Ids.check(PREFIX, value, ErrorCode.VOLUME_NOT_FOUND);
  }

  public static VolumeId random() {
    return new VolumeId(Ids.random(PREFIX));
  }

  @Override
  public String toString() {
    return value;
  }
}
