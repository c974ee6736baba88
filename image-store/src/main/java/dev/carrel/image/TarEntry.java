package dev.carrel.image;

import java.time.Instant;

/**
 * One entry of a tar, as it says of itself.
 *
 * @param name not checked in any way
 * @param link what a link leads to; not checked either
 */
record TarEntry(Type type, String name, String link, int mode, long size, Instant modified) {
  /** What the kinds of entries are to us. */
  enum Type {
    FILE,
    DIRECTORY,
    SYMLINK,
    HARDLINK,
    /** Devices and pipes. */
    NODE
  }
}
