package dev.carrel.guest;

import java.time.Instant;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A file, folder or other node in the sandbox.
 *
 * @param path as the guest names it. Names in Linux are bytes: where they are not UTF-8, the wrong
 *     ones are shown as U+FFFD and {@code exact} is false
 * @param exact whether {@code path} reaches this node. A node without an exact path can only be
 *     reached by a command, or removed with its folder
 * @param mode permission bits
 * @param target of a link
 * @param attributes what was given with the file when it was written, if asked for: see {@link
 *     GuestFiles#withAttributes}
 */
public record FileEntry(
    String path,
    boolean exact,
    Type type,
    long size,
    int mode,
    long uid,
    long gid,
    Instant modified,
    @Nullable String target,
    long inode,
    Map<String, String> attributes) {

  public FileEntry {
    attributes = Map.copyOf(attributes);
  }

  /** What kind of node. */
  public enum Type {
    FILE('f'),
    DIRECTORY('d'),
    LINK('l'),
    PIPE('p'),
    SOCKET('s'),
    BLOCK_DEVICE('b'),
    CHARACTER_DEVICE('c');

    private final char letter;

    Type(char letter) {
      this.letter = letter;
    }

    static @Nullable Type of(String letter) {
      for (Type type : values()) {
        if (letter.length() == 1 && letter.charAt(0) == type.letter) {
          return type;
        }
      }
      return null;
    }
  }
}
