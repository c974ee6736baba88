package dev.carrel.control.sandbox;

import java.util.List;
import java.util.Map;

/**
 * One page of a list.
 *
 * @param total matching the query on all pages
 * @param statusCounts of all that the caller owns, whatever the query
 */
public record SandboxPage(
    List<Sandbox> items,
    long total,
    int page,
    int pageSize,
    Map<SandboxStatus, Long> statusCounts) {
  public SandboxPage {
    items = List.copyOf(items);
    statusCounts = Map.copyOf(statusCounts);
  }
}
