package dev.carrel.control.web;

import dev.carrel.egress.Rule;
import java.net.URI;
import java.util.List;

/**
 * What agents may read of the web beside their sandboxes.
 *
 * @param enabled whether anything is fetched that no sandbox asks for by itself
 * @param providers who is asked by searches, in turns
 * @param maxBytes of one page
 * @param maxChars of what is told of it
 */
public record WebSettings(boolean enabled, List<Provider> providers, int maxBytes, int maxChars) {
  public WebSettings {
    providers = List.copyOf(providers);
  }

  /**
   * One who can be asked.
   *
   * @param name {@code searxng}, {@code duckduckgo} or {@code mojeek}
   * @param address empty: the usual one
   */
  public record Provider(String name, String address) {
    public Provider {
      if (SearchProvider.parse(name).usual().isEmpty() && address.isEmpty()) {
        throw new IllegalArgumentException(name + " needs an address: " + name + "=URL");
      }
      if (!address.isEmpty()) {
        place(address);
      }
    }

    /** {@code NAME} or {@code NAME=URL}. */
    public static Provider parse(String text) {
      int equals = text.indexOf('=');
      return equals < 0
          ? new Provider(text, "")
          : new Provider(text.substring(0, equals), text.substring(equals + 1));
    }

    SearchProvider kind() {
      return SearchProvider.parse(name);
    }

    /** Where it is, as policies name that. */
    Rule place() {
      return place(base());
    }

    private static Rule place(String base) {
      String authority = URI.create(base).getRawAuthority();
      if (authority == null) {
        throw new IllegalArgumentException("'" + base + "' must be a whole address");
      }
      return Rule.parse(authority);
    }

    String base() {
      return address.isEmpty() ? kind().usual() : address;
    }
  }

  public static WebSettings defaults() {
    return new WebSettings(
        true, List.of(Provider.parse("duckduckgo"), Provider.parse("mojeek")), 5 << 20, 100_000);
  }
}
