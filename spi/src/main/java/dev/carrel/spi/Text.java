package dev.carrel.spi;

/** Text from outside, made fit for a message, an answer or a log line. */
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

  /**
   * Where to cut a text that may have {@code max} characters. One of two halves stays whole or is
   * left out: many readers of JSON refuse all of a message for half of one.
   */
  public static int cut(CharSequence text, int max) {
    int end = Math.clamp(max, 0, text.length());
    boolean halved =
        end > 0
            && end < text.length()
            && Character.isSurrogatePair(text.charAt(end - 1), text.charAt(end));
    return halved ? end - 1 : end;
  }

  /** The first {@code max} characters, without half of one. */
  public static String head(String text, int max) {
    return text.substring(0, cut(text, max));
  }

  /** The last {@code max} characters, without half of one. */
  public static String tail(String text, int max) {
    int start = text.length() - Math.clamp(max, 0, text.length());
    return text.substring(cut(text, start) < start ? start + 1 : start);
  }
}
