package dev.carrel.control.files;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A search for text in files.
 *
 * @param path file or directory
 * @param pattern POSIX extended, or plain text when {@code fixed}
 * @param glob which files; null means all
 * @param context lines before and after each match
 * @param gitignore whether what .gitignore files name is left out
 */
public record Grep(
    String path,
    String pattern,
    @Nullable String glob,
    boolean ignoreCase,
    boolean fixed,
    boolean hidden,
    int context,
    int limit,
    boolean gitignore) {

  /** One that looks into what .gitignore files name, too. */
  public Grep(
      String path,
      String pattern,
      @Nullable String glob,
      boolean ignoreCase,
      boolean fixed,
      boolean hidden,
      int context,
      int limit) {
    this(path, pattern, glob, ignoreCase, fixed, hidden, context, limit, false);
  }

  public Grep withGitignore(boolean newGitignore) {
    return new Grep(path, pattern, glob, ignoreCase, fixed, hidden, context, limit, newGitignore);
  }

  /**
   * What was found.
   *
   * @param files that were looked into
   * @param count matches seen, also beyond the limit
   */
  public record Result(List<Match> matches, boolean truncated, long files, long count) {
    public Result {
      matches = List.copyOf(matches);
    }
  }

  /**
   * A line.
   *
   * @param context whether the line is only beside a match
   * @param cut whether the line was longer than what is shown
   */
  public record Match(String path, long line, String text, boolean context, boolean cut) {}
}
