package dev.carrel.control.files;

import java.time.Instant;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A file as the sandbox shows it.
 *
 * @param path absolute, inside the sandbox
 * @param target of a link
 * @param etag changes when the content may have
 * @param attributes kept beside the content, if asked for: see {@link Files#withAttributes}
 */
public record FileEntry(
    String path,
    String name,
    Type type,
    long size,
    int mode,
    Instant modifiedAt,
    @Nullable String target,
    String etag,
    Map<String, String> attributes) {

  public FileEntry {
    attributes = Map.copyOf(attributes);
  }

  FileEntry withTarget(@Nullable String newTarget) {
    return new FileEntry(path, name, type, size, mode, modifiedAt, newTarget, etag, attributes);
  }

  /** What a path names. */
  public enum Type {
    FILE,
    DIR,
    LINK,
    OTHER;

    public String wireName() {
      return name().toLowerCase(Locale.ROOT);
    }
  }
}
