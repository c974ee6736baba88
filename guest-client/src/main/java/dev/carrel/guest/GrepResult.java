package dev.carrel.guest;

import java.util.List;

/**
 * What a search found.
 *
 * @param lines matching lines and their context, in the order of the files
 * @param files how many files were looked into
 * @param truncated whether there were more matches than the limit
 * @param unreadable files and folders that the sandbox's user may not read
 */
public record GrepResult(
    List<Line> lines, long files, long matches, boolean truncated, long unreadable) {
  public GrepResult {
    lines = List.copyOf(lines);
  }

  /**
   * One line.
   *
   * @param number from 1
   * @param text invalid UTF-8 is shown as U+FFFD
   * @param context whether it only surrounds a match
   * @param cut whether it was longer than shown
   */
  public record Line(
      String path, boolean exact, long number, String text, boolean context, boolean cut) {}
}
