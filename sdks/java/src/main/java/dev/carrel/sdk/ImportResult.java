package dev.carrel.sdk;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What came of bringing files in.
 *
 * @param success whether all came
 */
public record ImportResult(boolean success, List<Imported> files, String error) {

  /**
   * One of them.
   *
   * @param files how many it was, for a folder or an archive
   * @param size bytes of all its files
   * @param skipped links and the like that were left out of a folder
   * @param error why it did not come; null: it did
   */
  public record Imported(
      String source,
      String destination,
      boolean success,
      long files,
      long size,
      long skipped,
      @Nullable String error,
      @Nullable String code) {}
}
