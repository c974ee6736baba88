package dev.carrel.control.image;

import dev.carrel.image.Digest;
import dev.carrel.spi.Language;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Something that sandboxes start on.
 *
 * @param origin what it was made from: a recipe's name, a registry's reference, an archive
 * @param status of the last attempt to get it; one that failed leaves what was there before
 * @param digest of its root; null when there is none of ours
 * @param layers lowest first
 * @param bytes of the files that a sandbox sees
 * @param failure why the last attempt failed
 */
public record Image(
    String name,
    Source source,
    String origin,
    Status status,
    @Nullable Digest digest,
    List<Digest> layers,
    long bytes,
    Set<Language> languages,
    @Nullable String failure,
    Instant createdAt,
    Instant updatedAt) {
  public Image {
    layers = List.copyOf(layers);
    languages = Set.copyOf(languages);
  }

  /** Whether a sandbox can start on it. */
  public boolean usable() {
    return digest != null || source == Source.HOST || source == Source.FOLDER;
  }

  /** Where images come from. */
  public enum Source {
    /** The host's own /usr. */
    HOST,
    /** A folder that the settings name. */
    FOLDER,
    CATALOG,
    REGISTRY,
    ARCHIVE,
    /** What a sandbox changed, on top of what it was on. */
    SANDBOX;

    public String wireName() {
      return name().toLowerCase(Locale.ROOT);
    }

    static Source parse(String text) {
      return Arrays.stream(values())
          .filter(s -> s.wireName().equals(text))
          .findFirst()
          .orElseThrow();
    }
  }

  /** How far it is. */
  public enum Status {
    /** In the catalog, not built. */
    AVAILABLE,
    BUILDING,
    READY,
    FAILED;

    public String wireName() {
      return name().toLowerCase(Locale.ROOT);
    }

    static Status parse(String text) {
      return Arrays.stream(values())
          .filter(s -> s.wireName().equals(text))
          .findFirst()
          .orElseThrow();
    }
  }
}
