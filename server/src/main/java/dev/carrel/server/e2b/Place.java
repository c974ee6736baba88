package dev.carrel.server.e2b;

import dev.carrel.server.http.Exchange;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import io.helidon.http.HeaderName;
import io.helidon.http.HeaderNames;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;

/**
 * The port of a sandbox that a request is meant for, told by two headers or by the host name {@code
 * PORT-SANDBOX.DOMAIN}.
 */
record Place(SandboxId sandbox, int port) {
  /** Where the agent of a sandbox listens, as clients see it. */
  static final int ENVD = 49983;

  /** Where the code interpreter listens. */
  static final int INTERPRETER = 49999;

  private static final HeaderName SANDBOX = HeaderNames.create("E2b-Sandbox-Id");
  private static final HeaderName PORT = HeaderNames.create("E2b-Sandbox-Port");
  private static final Set<String> PORTS =
      Set.of(String.valueOf(ENVD), String.valueOf(INTERPRETER));
  private static final int MAX_PORT = 65_535;

  /**
   * Empty when the request is for the server itself.
   *
   * @param domain under which sandboxes have names; empty: none have
   */
  static Optional<Place> of(Exchange exchange, String domain) {
    Optional<String> named = exchange.header(SANDBOX);
    if (named.isPresent()) {
      String port = exchange.header(PORT).orElse(String.valueOf(ENVD));
      return Optional.of(new Place(id(named.get().strip()), port(port.strip())));
    }
    return domain.isEmpty() ? Optional.empty() : ofHost(exchange.authority(), domain);
  }

  /** Whether a request says that it is for the inside of a sandbox, rightly or not. */
  static boolean isNamed(Exchange exchange, String domain) {
    return exchange.header(SANDBOX).isPresent() || isHost(exchange, domain);
  }

  /** As {@link #isNamed}, by its host alone. */
  static boolean isHost(Exchange exchange, String domain) {
    return !domain.isEmpty() && isOfSandbox(nameOf(exchange.authority()), domain);
  }

  private static String nameOf(String authority) {
    int colon = authority.lastIndexOf(':');
    return (colon < 0 ? authority : authority.substring(0, colon)).toLowerCase(Locale.ROOT);
  }

  /**
   * Others below the domain, as {@code api.DOMAIN}, are names of the server itself, and other ports
   * what its programs listen on.
   */
  private static boolean isOfSandbox(String host, String domain) {
    int dash = host.indexOf('-');
    return isBelow(host, domain) && dash > 0 && PORTS.contains(host.substring(0, dash));
  }

  private static boolean isBelow(String host, String domain) {
    return host.endsWith("." + domain);
  }

  private static Optional<Place> ofHost(String authority, String domain) {
    String host = nameOf(authority);
    if (!isBelow(host, domain)) {
      return Optional.empty();
    }
    String label = host.substring(0, host.length() - domain.length() - 1);
    // Some clients add a third part, which means nothing any more.
    String[] parts = label.split("-", 3);
    if (label.indexOf('.') >= 0 || parts.length < 2) {
      return Optional.empty();
    }
    return Optional.of(new Place(id(parts[1]), port(parts[0])));
  }

  /** What is no id names no sandbox, and clients hear the same. */
  private static SandboxId id(String text) {
    try {
      return new SandboxId(text);
    } catch (SandboxException e) {
      throw SandboxAway.notRunning(text);
    }
  }

  private static int port(String text) {
    try {
      int port = Integer.parseInt(text);
      if (port >= 1 && port <= MAX_PORT) {
        return port;
      }
    } catch (NumberFormatException e) {
      // Said below, as for a number out of range.
    }
    throw SandboxException.invalid("port", "must be between 1 and " + MAX_PORT);
  }
}
