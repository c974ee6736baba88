package dev.carrel.image;

import dev.carrel.spi.Text;
import java.util.ArrayList;
import java.util.List;

/** The name of something in an archive. */
final class EntryName {
  private static final int MAX_DEPTH = 128;

  private EntryName() {}

  /** Its parts, when it stays within its archive; empty for the root itself. */
  static List<String> parts(String name, Refusal refusal) {
    if (name.startsWith("/")) {
      throw refused(name, "is absolute", refusal);
    }
    var parts = new ArrayList<String>();
    for (String part : name.split("/", -1)) {
      if (part.equals("..")) {
        throw refused(name, "leads out of it", refusal);
      }
      if (part.indexOf('\0') >= 0) {
        throw refused(name, "has a NUL in it", refusal);
      }
      if (!part.isEmpty() && !part.equals(".")) {
        parts.add(part);
      }
    }
    if (parts.size() > MAX_DEPTH) {
      throw refused(name, "is more than " + MAX_DEPTH + " folders deep", refusal);
    }
    return parts;
  }

  static RuntimeException refused(String name, String why, Refusal refusal) {
    return refusal.because("'" + Text.printable(name, 200) + "' " + why);
  }
}
