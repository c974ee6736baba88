package dev.carrel.control.web;

import dev.carrel.spi.SandboxException;
import java.net.URI;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

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
  public static final int MOST = 20;
  private static final int MOST_NAMED = 8;

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

  /**
   * The words with the hosts, as those who search understand them: a page of hits from everywhere
   * may have none from there. They may not heed it, and not all hosts fit: {@link #wants} decides.
   */
  String query() {
    var query = new StringBuilder(words.strip());
    if (!only.isEmpty() && only.size() <= MOST_NAMED && only.stream().allMatch(this::plain)) {
      query
          .append(' ')
          .append(only.stream().map(host -> "site:" + host).collect(Collectors.joining(" OR ")));
    }
    not.stream()
        .filter(this::plain)
        .limit(MOST_NAMED)
        .forEach(host -> query.append(" -site:").append(host));
    return query.toString();
  }

  private boolean plain(String host) {
    return host.matches("[\\p{L}\\p{N}.-]{1,253}");
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
