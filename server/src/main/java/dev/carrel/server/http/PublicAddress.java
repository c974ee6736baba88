package dev.carrel.server.http;

/**
 * What links begin with that are given out.
 *
 * @param fixed empty: the name that a request used, over http
 */
public record PublicAddress(String fixed) {
  /** What comes before the path of a link. */
  public String of(Exchange exchange) {
    return fixed.isEmpty() ? "http://" + exchange.authority() : fixed;
  }
}
