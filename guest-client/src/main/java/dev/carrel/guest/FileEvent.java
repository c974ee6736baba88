package dev.carrel.guest;

/**
 * A change seen by a watch.
 *
 * @param path as in {@link FileEntry#path}
 * @param exact as in {@link FileEntry#exact}
 */
public record FileEvent(String path, boolean exact, Kind kind, boolean directory) {
  /** What happened; the order is the wire's. */
  public enum Kind {
    CREATED,
    MODIFIED,
    DELETED,
    MOVED_AWAY,
    MOVED_HERE,
    /** Events were lost: look again. */
    OVERFLOW
  }
}
