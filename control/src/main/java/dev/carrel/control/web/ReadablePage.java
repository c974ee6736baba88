package dev.carrel.control.web;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.Charset;
import java.nio.charset.IllegalCharsetNameException;
import java.nio.charset.StandardCharsets;
import java.nio.charset.UnsupportedCharsetException;
import java.util.Locale;
import java.util.Optional;
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
 */
record ReadablePage(String title, String text) {
  private static final Pattern CHARSET =
      Pattern.compile("charset\\s*=\\s*[\"']?([^\\s;\"']+)", Pattern.CASE_INSENSITIVE);
  private static final String AROUND =
      "nav, footer, aside, [role=navigation], [role=banner], [role=contentinfo], [role=complementary], .sidebar, .navbar, .cookie-banner";
  // With fewer left, what was taken away was the page.
  private static final int LEAST_CHARS = 200;

  /**
   * @param type as the server says it
   * @param base what links are relative to
   */
  static ReadablePage of(byte[] bytes, String type, String base) throws IOException {
    String kind = type.toLowerCase(Locale.ROOT);
    if (!kind.contains("html")) {
      return new ReadablePage("", new String(bytes, charset(type).orElse(StandardCharsets.UTF_8)));
    }
    // Without a word of the server, the page itself says it, or begins with a mark.
    String charset = charset(type).map(Charset::name).orElse(null);
    Document page = Jsoup.parse(new ByteArrayInputStream(bytes), charset, base);
    return new ReadablePage(page.title().strip(), Markdown.of(main(page)));
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

  private static Element main(Document page) {
    Elements marked = page.select("main, [role=main]");
    if (marked.isEmpty()) {
      marked = page.select("article");
    }
    // Several articles are a list of them.
    if (marked.size() == 1 && marked.getFirst().text().length() >= LEAST_CHARS) {
      return marked.getFirst();
    }
    Element clean = page.body().clone();
    clean.select(AROUND).remove();
    return clean.text().length() < LEAST_CHARS ? page.body() : clean;
  }
}
