package dev.carrel.server.http;

import java.net.URI;
import java.net.URISyntaxException;
import java.util.Locale;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Refuses requests that a foreign web page made a browser send: by a name that was made to point
 * here (DNS rebinding), or straight from another origin.
 */
public final class HostGuard {
  private final boolean anyHost;
  private final Set<String> hosts;
  private final SandboxHosts sandboxes;

  /**
   * @param loopback whether only this machine can connect, so that every honest name is known
   * @param allowedHosts further names of the server
   * @param sandboxes names that sandboxes have
   */
  public HostGuard(boolean loopback, Set<String> allowedHosts, SandboxHosts sandboxes) {
    this.sandboxes = sandboxes;
    this.anyHost = !loopback && allowedHosts.isEmpty();
    this.hosts =
        Set.copyOf(allowedHosts.stream().map(name -> name.toLowerCase(Locale.ROOT)).toList());
  }

  void checkHost(String host) {
    if (!anyHost && !isOurs(nameOf(host))) {
      throw HttpProblem.foreign(
          "Host", "address the server as localhost, or add the name to its allowed hosts");
    }
  }

  /** Throws unless a page of this host, or none at all, made a browser ask. */
  public static void checkOrigin(String host, @Nullable String origin) {
    if (origin != null && !isSameSite(origin, host)) {
      throw HttpProblem.foreign(
          "Origin", "call the server from its own pages, or not from a browser");
    }
  }

  private static boolean isSameSite(String origin, String host) {
    try {
      String authority = new URI(origin).getRawAuthority();
      return authority != null && authority.equalsIgnoreCase(host);
    } catch (URISyntaxException e) {
      return false;
    }
  }

  private boolean isOurs(String name) {
    return name.equals("localhost")
        || name.equals("[::1]")
        || isLoopbackAddress(name)
        || sandboxes.covers(name)
        || hosts.contains(name);
  }

  private static boolean isLoopbackAddress(String name) {
    String[] parts = name.split("\\.", -1);
    if (parts.length != 4 || !parts[0].equals("127")) {
      return false;
    }
    for (String part : parts) {
      if (part.isEmpty()
          || part.length() > 3
          || !part.chars().allMatch(c -> c >= '0' && c <= '9')) {
        return false;
      }
    }
    return true;
  }

  static String nameOf(String authority) {
    int end = authority.startsWith("[") ? authority.indexOf(']') + 1 : authority.indexOf(':');
    String name = end <= 0 ? authority : authority.substring(0, end);
    return name.toLowerCase(Locale.ROOT);
  }

  /** Whether a name leads to this server, as far as it knows. */
  public boolean leadsHere(String authority) {
    return isOurs(nameOf(authority));
  }
}
