package dev.carrel.sdk;

import java.util.List;

/**
 * What a search found, best first.
 *
 * @param provider who was asked
 */
public record WebResults(String provider, List<Hit> results) {
  public WebResults {
    results = List.copyOf(results);
  }

  /** One page of it. */
  public record Hit(String title, String url, String snippet) {}
}
