package dev.carrel.spi;

import java.util.Arrays;
import java.util.Optional;

/** What a sandbox may do with the root that its image is. */
public enum Rootfs {
  /** Look at it; commands have no privilege at all. */
  READ_ONLY("read-only"),
  /**
   * Change it, as root inside: changes are kept in the sandbox's own volume and are part of its
   * size, its copies and nobody else's view.
   */
  OVERLAY("overlay");

  private final String wireName;

  Rootfs(String wireName) {
    this.wireName = wireName;
  }

  public String wireName() {
    return wireName;
  }

  public static Optional<Rootfs> find(String name) {
    return Arrays.stream(values()).filter(rootfs -> rootfs.wireName.equals(name)).findFirst();
  }

  /** The one of this name, as a caller wrote it. */
  public static Rootfs parse(String name) {
    return find(name)
        .orElseThrow(
            () ->
                SandboxException.invalid(
                    "rootfs",
                    "must be 'read-only' or 'overlay', not '" + Text.printable(name, 32) + "'"));
  }
}
