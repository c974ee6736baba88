package dev.carrel.dist.config;

import dev.carrel.control.web.WebSettings;
import java.util.ArrayList;
import java.util.List;

/** The keys of {@link WebSettings}. */
final class WebKeys {
  private static final int LEAST_BYTES = 1024;
  private static final int MOST_BYTES = 64 << 20;

  private WebKeys() {}

  static WebSettings read(Settings settings) {
    WebSettings usual = WebSettings.defaults();
    return new WebSettings(
        settings.flag("web.enabled", usual.enabled()),
        providers(
            settings.list(
                "web.search", usual.providers().stream().map(WebSettings.Provider::name).toList())),
        settings.number("web.max-bytes", usual.maxBytes(), LEAST_BYTES, MOST_BYTES),
        settings.number("web.max-chars", usual.maxChars(), LEAST_BYTES, MOST_BYTES));
  }

  private static List<WebSettings.Provider> providers(List<String> words) {
    var providers = new ArrayList<WebSettings.Provider>();
    for (String word : words) {
      try {
        providers.add(WebSettings.Provider.parse(word));
      } catch (IllegalArgumentException e) {
        throw new ConfigurationException("web.search: " + e.getMessage());
      }
    }
    return providers;
  }
}
