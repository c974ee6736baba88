package dev.carrel.control.host;

import java.time.Instant;

/** A file, a folder or something else on the host, as it is listed. */
public record HostFile(String name, String path, Kind kind, long size, Instant modifiedAt) {
  /** What it is. */
  public enum Kind {
    FILE,
    DIRECTORY,
    LINK,
    OTHER
  }
}
