package dev.carrel.spi;

/**
 * A file that an exec left different.
 *
 * @param path relative to /workspace
 */
public record FileChange(String path, Action action, long size, boolean directory) {
  public FileChange withPath(String newPath) {
    return new FileChange(newPath, action, size, directory);
  }

  /** What became of it. */
  public enum Action {
    CREATED,
    MODIFIED,
    DELETED
  }
}
