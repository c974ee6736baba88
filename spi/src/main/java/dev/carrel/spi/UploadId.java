package dev.carrel.spi;

/** Names one upload that goes on in parts. Unguessable; fits a DNS label and a file name. */
public record UploadId(String value) {
  private static final String PREFIX = "up";

  public UploadId {
    Ids.check(PREFIX, value, ErrorCode.UPLOAD_NOT_FOUND);
  }

  public static UploadId random() {
    return new UploadId(Ids.random(PREFIX));
  }

  @Override
  public String toString() {
    return value;
  }
}
