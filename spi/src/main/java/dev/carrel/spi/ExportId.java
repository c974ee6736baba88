package dev.carrel.spi;

/** Names one exported file or folder. Unguessable; fits a DNS label and a file name. */
public record ExportId(String value) {
  private static final String PREFIX = "xp";

  public ExportId {
    Ids.check(PREFIX, value, ErrorCode.EXPORT_NOT_FOUND);
  }

  public static ExportId random() {
    return new ExportId(Ids.random(PREFIX));
  }

  @Override
  public String toString() {
    return value;
  }
}
