package dev.carrel.egress;

/**
 * Hosts that a rule is about: one, or {@code *.suffix}, which is everything below the suffix and
 * the suffix itself.
 *
 * @param port 0: none is named
 */
public record HostPattern(Host host, boolean below, int port) {
  private static final String BELOW = "*.";

  /**
   * @throws IllegalArgumentException says what is wrong with it
   */
  public static HostPattern parse(String text) {
    if (text.contains("://")) {
      throw new IllegalArgumentException(
          "'%s': a rule names a host alone, as example.com or example.com:8443, not an address"
              .formatted(Printable.of(text, 80)));
    }
    boolean below = text.startsWith(BELOW);
    String rest = below ? text.substring(BELOW.length()) : text;
    if (rest.indexOf('*') >= 0) {
      throw new IllegalArgumentException(
          "'" + Printable.of(text, 80) + "': a star stands only in front, as in *.example.com");
    }
    boolean named = rest.matches(".*:[0-9]*") && !rest.endsWith("]");
    Target target = Target.parse(rest, named ? 0 : 80);
    if (below && !(target.host().isName() && target.host().hasDots())) {
      throw new IllegalArgumentException(
          "'" + Printable.of(text, 80) + "': a star needs a name of two parts below it");
    }
    return new HostPattern(target.host(), below, named ? target.port() : 0);
  }

  public boolean matches(Host other) {
    return below ? other.within(host) : other.equals(host);
  }

  @Override
  public String toString() {
    return (below ? BELOW : "") + host + (port == 0 ? "" : ":" + port);
  }
}
