package dev.carrel.egress;

/** Text from a sandbox made fit for a message, a header or a log. */
final class Printable {
  private Printable() {}

  /** ASCII without controls, at most so long. */
  static String of(String text, int max) {
    var out = new StringBuilder(Math.min(text.length(), max));
    for (int i = 0; i < text.length() && out.length() < max; i++) {
      char c = text.charAt(i);
      out.append(c >= 0x20 && c < 0x7f ? c : '?');
    }
    return text.length() > max ? out.append("...").toString() : out.toString();
  }
}
