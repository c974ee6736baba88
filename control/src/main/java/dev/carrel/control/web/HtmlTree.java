package dev.carrel.control.web;

import java.time.Duration;
import org.jsoup.nodes.Attribute;
import org.jsoup.nodes.Document;
import org.jsoup.nodes.Element;
import org.jsoup.parser.Parser;
import org.jsoup.parser.StreamParser;

/**
 * HTML of a stranger, parsed as far as there are room and time for it. How large a page is says
 * little of what becomes of it: marks that a paragraph leaves open are there anew in each paragraph
 * after it, with all of their attributes, for the four bytes of {@code <p>x}.
 *
 * @param cut whether there was more
 */
public record HtmlTree(Document document, boolean cut) {
  // Some 50 MB. A page of 5 MiB that people read has 100,000 elements and as many attributes.
  private static final int MOST_PARTS = 300_000;
  // Attributes are written out as often as they are there.
  private static final int CHARS_A_PART = 64;
  // What stands in tables where it may not is moved, for longer the more of it there is.
  private static final Duration PATIENCE = Duration.ofSeconds(30);

  /**
   * @param base what links are relative to
   */
  public static HtmlTree parse(String html, String base) {
    try (var parser = new StreamParser(Parser.htmlParser())) {
      parser.parse(html, base);
      var elements = parser.iterator();
      long start = System.nanoTime();
      long parts = 0;
      while (elements.hasNext()) {
        parts += parts(elements.next());
        if (parts > MOST_PARTS || System.nanoTime() - start > PATIENCE.toNanos()) {
          return new HtmlTree(parser.document(), true);
        }
      }
      return new HtmlTree(parser.document(), false);
    }
  }

  private static long parts(Element element) {
    long parts = 1;
    if (element.attributesSize() > 0) {
      for (Attribute attribute : element.attributes()) {
        parts += 1 + attribute.getValue().length() / CHARS_A_PART;
      }
    }
    return parts;
  }
}
