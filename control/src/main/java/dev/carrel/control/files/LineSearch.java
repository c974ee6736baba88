package dev.carrel.control.files;

import dev.carrel.control.files.Matching.Found;

/**
 * Finds whole lines whose space differs. What is compared is the characters of each line without
 * that space, and a line feed: a text may have millions of lines, and no object is made of one.
 */
final class LineSearch {
  private final boolean squeeze;
  private final boolean withBreak;
  private final String wanted;
  private final int lines;

  /**
   * @param squeeze whether runs of spaces and tabs within a line count as one
   */
  LineSearch(String wanted, boolean squeeze) {
    this.squeeze = squeeze;
    this.withBreak = wanted.endsWith("\n");
    var forms = new StringBuilder("\n");
    String core = withBreak ? wanted.substring(0, wanted.length() - 1) : wanted;
    int count = 0;
    for (String line : (Iterable<String>) core.lines()::iterator) {
      form(line, 0, line.length(), forms::append);
      forms.append('\n');
      count++;
    }
    this.wanted = forms.toString();
    this.lines = count;
  }

  private interface Sink {
    void take(char c);
  }

  void find(String text, Found found) {
    // Without its space, a text is longer by no more than the line feeds before and after it.
    if (wanted.isBlank() || wanted.length() > text.length() + 2) {
      return;
    }
    var search = new Search(wanted);
    Sink sink = search::next;
    var starts = new int[lines];
    search.next('\n');
    for (int line = 0, start = 0; start <= text.length(); line++) {
      starts[line % lines] = start;
      int feed = text.indexOf('\n', start);
      int stop = feed < 0 ? text.length() : feed;
      int end = stop > start && text.charAt(stop - 1) == '\r' ? stop - 1 : stop;
      form(text, start, end, sink);
      if (search.next('\n')) {
        found.found(starts[(line + 1) % lines], withBreak && feed >= 0 ? feed + 1 : end);
        search.next('\n');
      }
      start = stop + 1;
    }
  }

  private void form(String text, int from, int to, Sink sink) {
    int start = from;
    int end = to;
    while (start < end && Character.isWhitespace(text.charAt(start))) {
      start++;
    }
    while (end > start && Character.isWhitespace(text.charAt(end - 1))) {
      end--;
    }
    boolean space = false;
    for (int i = start; i < end; i++) {
      char c = text.charAt(i);
      boolean more = squeeze && (c == ' ' || c == '\t');
      if (!more) {
        sink.take(c);
      } else if (!space) {
        sink.take(' ');
      }
      space = more;
    }
  }
}
