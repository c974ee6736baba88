package dev.carrel.server.rest;

import dev.carrel.control.files.FileEntry;

/** Entity tags, and the lists of them that callers send. */
final class ETags {
  private ETags() {}

  static String quoted(FileEntry entry) {
    String etag = entry.etag();
    return etag.startsWith("\"") ? etag : "\"" + etag + "\"";
  }

  /** Whether a list such as {@code "a", W/"b"} or {@code *} names the entry. */
  static boolean matches(String list, FileEntry entry) {
    if (list.strip().equals("*")) {
      return true;
    }
    String wanted = quoted(entry);
    for (String tag : list.split(",", -1)) {
      String bare = tag.strip();
      if (bare.startsWith("W/")) {
        bare = bare.substring(2);
      }
      if (bare.equals(wanted)) {
        return true;
      }
    }
    return false;
  }
}
