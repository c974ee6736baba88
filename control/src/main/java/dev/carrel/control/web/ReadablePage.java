package dev.carrel.control.web;

import dev.carrel.spi.Text;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.Charset;
import java.nio.charset.IllegalCharsetNameException;
import java.nio.charset.StandardCharsets;
import java.nio.charset.UnsupportedCharsetException;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jsoup.Jsoup;
import org.jsoup.nodes.Document;
import org.jsoup.nodes.Element;
import org.jsoup.select.Elements;

/**
 * What a page says, without what surrounds it.
 *
 * @param title empty: it has none
 * @param cut whether it says more than there was room for
 */
record ReadablePage(String title, String text, boolean cut) {
  private static final Pattern CHARSET =
      Pattern.compile("charset\\s*=\\s*[\"']?([^\\s;\"']+)", Pattern.CASE_INSENSITIVE);
  private static final String AROUND =
      "nav, footer, aside, [role=navigation], [role=banner], [role=contentinfo], [role=complementary], .sidebar, .navbar, .cookie-banner";
  // Whatever a page says of its characters stands here.
  private static final int START = 5 * 1024;
  // With fewer left, what was taken away was the page.
  private static final int LEAST_CHARS = 200;

  /**
   * @param type as the server says it
   * @param base what links are relative to
   * @param most so many characters of text
   */
  static ReadablePage of(byte[] bytes, String type, String base, int most) throws IOException {
    if (!isHtml(type)) {
      String text = new String(bytes, charset(type).orElse(StandardCharsets.UTF_8));
      return new ReadablePage("", Text.head(text, most), text.length() > most);
    }
    HtmlTree page = HtmlTree.parse(html(bytes, type), base);
    Markdown main = main(page.document(), most);
    return new ReadablePage(
        page.document().title().strip(), main.text(), main.isCut() || page.cut());
  }

  /** Whether a tree is made of what has this type. */
  static boolean isHtml(String type) {
    return type.toLowerCase(Locale.ROOT).contains("html");
  }

  private static String html(byte[] bytes, String type) throws IOException {
    // Without a word of the server, the page itself says it, or begins with a mark.
    var start = new ByteArrayInputStream(bytes, 0, Math.min(bytes.length, START));
    String said = charset(type).map(Charset::name).orElse(null);
    String html = new String(bytes, Jsoup.parse(start, said, "").charset());
    return html.startsWith("\ufeff") ? html.substring(1) : html;
  }

  static Optional<Charset> charset(String type) {
    Matcher named = CHARSET.matcher(type);
    if (!named.find()) {
      return Optional.empty();
    }
    try {
      return Optional.of(Charset.forName(named.group(1)));
    } catch (IllegalCharsetNameException | UnsupportedCharsetException e) {
      return Optional.empty();
    }
  }

  private static Markdown main(Document page, int most) {
    Elements marked = page.select("main, [role=main]");
    if (marked.isEmpty()) {
      marked = page.select("article");
    }
    // Several articles are a list of them.
    if (marked.size() == 1 && marked.getFirst().text().length() >= LEAST_CHARS) {
      return Markdown.of(marked.getFirst(), Set.of(), most);
    }
    Set<Element> around = Collections.newSetFromMap(new IdentityHashMap<>());
    around.addAll(page.body().select(AROUND));
    Markdown clean = Markdown.of(page.body(), around, most);
    return clean.isCut() || clean.text().length() >= LEAST_CHARS
        ? clean
        : Markdown.of(page.body(), Set.of(), most);
  }
}
