package dev.carrel.control.web;

import java.util.List;

/**
 * What a search found.
 *
 * @param provider who was asked
 */
public record Found(String provider, List<Hit> hits) {
  public Found {
    hits = List.copyOf(hits);
  }

  /** One page of it. */
  public record Hit(String title, String url, String snippet) {}
}
