package dev.carrel.control.image;

import java.util.List;

/**
 * How far the work on an image is.
 *
 * @param version grows with every change
 * @param total negative when nobody knows
 * @param lines what was logged since the caller last looked
 * @param lineCount how many lines were logged in all
 */
public record ImageProgress(
    long version,
    String step,
    long done,
    long total,
    List<String> lines,
    long lineCount,
    boolean ended) {
  /** For who has seen nothing yet. */
  public static final ImageProgress NONE = new ImageProgress(0, "", 0, -1, List.of(), 0, false);

  public ImageProgress {
    lines = List.copyOf(lines);
  }
}
