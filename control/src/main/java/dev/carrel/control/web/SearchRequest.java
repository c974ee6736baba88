package dev.carrel.control.web;

import dev.carrel.spi.SandboxException;
import java.net.URI;
import java.util.List;
import java.util.Locale;

/**
 * What to look for.
 *
 * @param only hosts, with what is below them, that results may come from; empty: all
 * @param not hosts, with what is below them, that they may not come from
 * @param most how many are wanted
 * @param language as in {@code de}; empty: any
 */
public record SearchRequest(
    String words, List<String> only, List<String> not, int most, String language) {
  public static final int USUAL = 5;
  private static final int MOST = 20;

  public SearchRequest {
    only = List.copyOf(only);
    not = List.copyOf(not);
    if (most < 1 || most > MOST) {
      throw SandboxException.invalid("num", "must be from 1 to " + MOST);
    }
    if (!language.matches("[A-Za-z-]{0,10}")) {
      throw SandboxException.invalid("lr", "must be a language, as in de or en-GB");
    }
  }

  boolean wants(String url) {
    String host;
    try {
      host = String.valueOf(URI.create(url).getHost()).toLowerCase(Locale.ROOT);
    } catch (IllegalArgumentException e) {
      return false;
    }
    return (only.isEmpty() || only.stream().anyMatch(domain -> within(host, domain)))
        && not.stream().noneMatch(domain -> within(host, domain));
  }

  private static boolean within(String host, String domain) {
    String bare = domain.toLowerCase(Locale.ROOT);
    return host.equals(bare) || host.endsWith("." + bare);
  }
}
