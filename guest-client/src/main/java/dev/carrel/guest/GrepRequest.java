package dev.carrel.guest;

import org.jspecify.annotations.Nullable;

/**
 * A search in files.
 *
 * @param path a file, or a folder that is searched with all below
 * @param pattern a POSIX extended expression, or plain text where {@code fixed}
 * @param glob which file names to look into; null means all
 * @param context lines shown before and after each match
 * @param limit on matches
 * @param maxLine bytes of a line that are shown
 * @param hidden whether names that start with a dot are searched
 * @param gitignore whether what .gitignore files name is left out
 */
public record GrepRequest(
    String path,
    String pattern,
    @Nullable String glob,
    boolean ignoreCase,
    boolean fixed,
    boolean hidden,
    boolean gitignore,
    int context,
    int limit,
    int maxLine) {
  private static final int MAX_CONTEXT = 100;

  public GrepRequest {
    Checks.range("context", context, 0, MAX_CONTEXT);
    Checks.range("limit", limit, 1, Checks.MAX_ENTRIES);
    Checks.range("max_line", maxLine, 1, Checks.MAX_LINE);
  }

  public static GrepRequest of(String path, String pattern) {
    return new GrepRequest(path, pattern, null, false, false, false, false, 0, 1000, 2000);
  }

  public GrepRequest withGlob(@Nullable String newGlob) {
    return new GrepRequest(
        path, pattern, newGlob, ignoreCase, fixed, hidden, gitignore, context, limit, maxLine);
  }

  public GrepRequest withIgnoreCase(boolean newIgnoreCase) {
    return new GrepRequest(
        path, pattern, glob, newIgnoreCase, fixed, hidden, gitignore, context, limit, maxLine);
  }

  public GrepRequest withFixed(boolean newFixed) {
    return new GrepRequest(
        path, pattern, glob, ignoreCase, newFixed, hidden, gitignore, context, limit, maxLine);
  }

  public GrepRequest withHidden(boolean newHidden) {
    return new GrepRequest(
        path, pattern, glob, ignoreCase, fixed, newHidden, gitignore, context, limit, maxLine);
  }

  public GrepRequest withGitignore(boolean newGitignore) {
    return new GrepRequest(
        path, pattern, glob, ignoreCase, fixed, hidden, newGitignore, context, limit, maxLine);
  }

  public GrepRequest withContext(int newContext) {
    return new GrepRequest(
        path, pattern, glob, ignoreCase, fixed, hidden, gitignore, newContext, limit, maxLine);
  }

  public GrepRequest withLimit(int newLimit) {
    return new GrepRequest(
        path, pattern, glob, ignoreCase, fixed, hidden, gitignore, context, newLimit, maxLine);
  }

  public GrepRequest withMaxLine(int newMaxLine) {
    return new GrepRequest(
        path, pattern, glob, ignoreCase, fixed, hidden, gitignore, context, limit, newMaxLine);
  }
}
