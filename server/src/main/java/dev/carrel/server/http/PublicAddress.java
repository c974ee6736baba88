package dev.carrel.server.http;

/**
 * What links begin with that are given out.
 *
 * @param fixed empty: as a request came
 */
public record PublicAddress(String fixed) {
  /** What comes before the path of a link. */
  public String of(Exchange exchange) {
    if (!fixed.isEmpty()) {
      return fixed;
    }
    return (exchange.secure() ? "https://" : "http://") + exchange.authority();
  }
}
