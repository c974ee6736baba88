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

  /** Whether an authority has the host that links begin with. */
  public boolean isAt(String authority) {
    String[] parts = fixed.split("/", 4);
    return parts.length > 2 && HostGuard.nameOf(parts[2]).equals(HostGuard.nameOf(authority));
  }
}
