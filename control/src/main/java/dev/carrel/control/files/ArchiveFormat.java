package dev.carrel.control.files;

import dev.carrel.spi.SandboxException;
import java.util.Locale;

/** What a folder can be packed as. */
public enum ArchiveFormat {
  ZIP("application/zip"),
  TAR("application/x-tar");

  private final String mediaType;

  ArchiveFormat(String mediaType) {
    this.mediaType = mediaType;
  }

  public static ArchiveFormat parse(String text) {
    return switch (text.toLowerCase(Locale.ROOT)) {
      case "zip" -> ZIP;
      case "tar" -> TAR;
      default -> throw SandboxException.invalid("format", "must be zip or tar");
    };
  }

  public String mediaType() {
    return mediaType;
  }

  /** With the dot. */
  public String suffix() {
    return "." + name().toLowerCase(Locale.ROOT);
  }
}
