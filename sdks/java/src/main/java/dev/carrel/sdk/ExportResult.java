package dev.carrel.sdk;

import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What came of letting files out.
 *
 * @param success whether all can be fetched
 */
public record ExportResult(boolean success, List<Exported> files, String error) {

  /**
   * One of them.
   *
   * @param type {@code file} or {@code dir}
   * @param size of the file, or of the files in the folder; null when they are too many to look at
   * @param downloadUrl who has it can fetch, until it expires; a folder as a zip, or with {@code
   *     &format=tar}
   * @param error why it cannot be let out; null: it can
   */
  public record Exported(
      @Nullable String id,
      String path,
      boolean success,
      @Nullable String type,
      @Nullable Long size,
      @Nullable String downloadUrl,
      @Nullable Instant expiresAt,
      @Nullable String error,
      @Nullable String code) {}
}
