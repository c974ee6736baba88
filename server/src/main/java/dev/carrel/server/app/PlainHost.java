package dev.carrel.server.app;

import java.net.InetAddress;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A host that every client reads alike. Clients know many spellings of one address ({@code 127.1},
 * {@code 0x7f.1}, {@code 2130706433}), and a name whose last label begins with a digit is one.
 *
 * @param address null: it is a name
 */
record PlainHost(String name, @Nullable InetAddress address) {
  private static final int MAX_LENGTH = 262;
  private static final String OCTET = "(?:0|[1-9][0-9]{0,2})";
  private static final Pattern AUTHORITY =
      Pattern.compile(
          "(?:(?<name>(?:[a-z0-9_-]++\\.)*+[a-z][a-z0-9_-]*+)|(?<four>(?:%1$s\\.){3}%1$s)"
                  .formatted(OCTET)
              + "|\\[(?<six>[0-9a-f:.]+)])(?::[0-9]{1,5})?");

  /** Empty for what can be read in two ways, or holds more than a host and a port. */
  static Optional<PlainHost> of(String authority) {
    Matcher parts = AUTHORITY.matcher(authority.toLowerCase(Locale.ROOT));
    if (authority.length() > MAX_LENGTH || !parts.matches()) {
      return Optional.empty();
    }
    if (parts.group("name") != null) {
      return Optional.of(new PlainHost(parts.group("name"), null));
    }
    String digits = parts.group("four") == null ? parts.group("six") : parts.group("four");
    try {
      InetAddress address = InetAddress.ofLiteral(digits);
      return Optional.of(new PlainHost(address.getHostAddress(), address));
    } catch (IllegalArgumentException e) {
      return Optional.empty();
    }
  }

  /** Whether it is the machine itself that a client runs on. */
  boolean isLocal() {
    return address == null
        ? name.equals("localhost") || name.endsWith(".localhost")
        : address.isLoopbackAddress() || address.isAnyLocalAddress();
  }
}
