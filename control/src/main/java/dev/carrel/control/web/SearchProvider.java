package dev.carrel.control.web;

import dev.carrel.control.web.Found.Hit;
import java.net.URI;
import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.jsoup.nodes.Document;
import org.jsoup.nodes.Element;

/** Where to search, and how to read what comes back. Its pages are as hostile as any. */
enum SearchProvider {
  SEARXNG("", "#results, #urls") {
    @Override
    URI uri(String base, Query query) {
      return URI.create(
          strip(base)
              + "/search?q="
              + encoded(query.words())
              + (query.language().isEmpty() ? "" : "&language=" + encoded(query.language())));
    }

    @Override
    Optional<List<Hit>> read(String page, String base) {
      return hits(page, base, "article.result, div.result", "h3 a, h4 a", ".content");
    }
  },

  DUCKDUCKGO("https://html.duckduckgo.com/html/", ".no-results, .result--no-result") {
    @Override
    URI uri(String base, Query query) {
      return URI.create(base + "?q=" + encoded(query.words()) + region(query));
    }

    private String region(Query query) {
      return query.language().isEmpty() ? "" : "&kl=" + encoded("wt-" + query.language());
    }

    @Override
    Optional<List<Hit>> read(String page, String base) {
      return hits(page, base, "div.result:not(.result--ad)", "a.result__a", ".result__snippet");
    }
  },

  MOJEEK("https://www.mojeek.com/search", "ul.results-standard, .no-results") {
    @Override
    URI uri(String base, Query query) {
      return URI.create(
          base
              + "?q="
              + encoded(query.words())
              + (query.language().isEmpty() ? "" : "&lb=" + encoded(query.language())));
    }

    @Override
    Optional<List<Hit>> read(String page, String base) {
      return hits(page, base, "ul.results-standard > li", "a.title, h2 a", "p.s");
    }
  };

  private static final String WRAPPED = "uddg=";
  private final String usual;
  private final String list;

  /**
   * @param list what a page has that lists hits, be they none; one that only asks who is there has
   *     it not
   */
  SearchProvider(String usual, String list) {
    this.usual = usual;
    this.list = list;
  }

  /**
   * @param language of the results, as in {@code de}; empty: any
   */
  record Query(String words, String language) {}

  abstract URI uri(String base, Query query);

  /**
   * In the order of the page; those without an address of the web are left out. Empty when the page
   * is no list of hits.
   */
  abstract Optional<List<Hit>> read(String page, String base);

  /** Where it is when the operator does not say; empty: it must be said. */
  String usual() {
    return usual;
  }

  String wireName() {
    return name().toLowerCase(Locale.ROOT);
  }

  static SearchProvider parse(String text) {
    for (SearchProvider provider : values()) {
      if (provider.wireName().equals(text)) {
        return provider;
      }
    }
    throw new IllegalArgumentException(
        "'" + text + "' is no search provider; one of searxng, duckduckgo, mojeek");
  }

  Optional<List<Hit>> hits(String page, String base, String result, String title, String snippet) {
    var hits = new ArrayList<Hit>();
    Document document = HtmlTree.parse(page, base).document();
    for (Element one : document.select(result)) {
      Element link = one.selectFirst(title);
      String url = link == null ? "" : unwrapped(link.absUrl("href"));
      if (link != null && (url.startsWith("http://") || url.startsWith("https://"))) {
        Element about = one.selectFirst(snippet);
        hits.add(new Hit(link.text(), url, about == null ? "" : about.text()));
      }
    }
    return hits.isEmpty() && document.selectFirst(list) == null
        ? Optional.empty()
        : Optional.of(hits);
  }

  /** Some count who follows a link: the page itself stands in the address. */
  private static String unwrapped(String url) {
    int at = url.indexOf(WRAPPED);
    if (at < 0) {
      return url;
    }
    int end = url.indexOf('&', at);
    String inner = url.substring(at + WRAPPED.length(), end < 0 ? url.length() : end);
    try {
      return URLDecoder.decode(inner, StandardCharsets.UTF_8);
    } catch (IllegalArgumentException e) {
      return url;
    }
  }

  private static String encoded(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8);
  }

  private static String strip(String base) {
    return base.endsWith("/") ? base.substring(0, base.length() - 1) : base;
  }
}
