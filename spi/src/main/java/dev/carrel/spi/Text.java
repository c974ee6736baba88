package dev.carrel.spi;

/** Text from outside, made fit for a message or a log line. */
public final class Text {
  private Text() {}

  /**
   * The first {@code max} characters, with control characters replaced so that nothing can forge a
   * line or a colour.
   */
  public static String printable(String text, int max) {
    var out = new StringBuilder(Math.min(text.length(), max) + 1);
    for (int i = 0; i < text.length() && i < max; i++) {
      char c = text.charAt(i);
      out.append(Character.isISOControl(c) || Character.isSurrogate(c) ? '?' : c);
    }
    return text.length() > max ? out.append('…').toString() : out.toString();
  }
}
