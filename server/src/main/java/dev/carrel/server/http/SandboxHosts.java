package dev.carrel.server.http;

import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.net.URI;
import java.net.URISyntaxException;
import java.util.Optional;

/**
 * Names that ports of sandboxes have as hosts, {@code PORT-SANDBOX.DOMAIN}. Each is an origin of
 * its own for browsers. A server that only this machine reaches has them under {@code localhost}
 * without being told, because browsers look for such names nowhere else.
 */
public final class SandboxHosts {
  /** The setting for no names at all. */
  public static final String NONE = "none";

  private static final String LOCALHOST = "localhost";
  private static final int MAX_PORT = 65_535;

  private final String scheme;
  private final String domain;
  private final int port;
  private final boolean usual;

  private SandboxHosts(String scheme, String domain, int port, boolean usual) {
    this.scheme = scheme;
    this.domain = domain;
    this.port = port;
    this.usual = usual;
  }

  /**
   * @param setting a domain, maybe with the scheme before it and the port after it by which clients
   *     come; empty: the usual ones; {@code none}
   * @param loopback whether only this machine can connect
   * @param secure whether the server itself speaks TLS
   */
  public static SandboxHosts of(String setting, boolean loopback, boolean secure) {
    if (setting.equals(NONE) || (setting.isEmpty() && !loopback)) {
      return new SandboxHosts("http", "", -1, false);
    }
    if (setting.isEmpty()) {
      return new SandboxHosts(secure ? "https" : "http", LOCALHOST, -1, true);
    }
    try {
      boolean told = setting.contains("://");
      URI uri = new URI(told ? setting : "https://" + setting);
      String host = uri.getHost();
      if (host == null
          || !uri.getRawPath().isEmpty()
          || !(uri.getScheme().equals("http") || uri.getScheme().equals("https"))) {
        throw wrong();
      }
      boolean plain = !told && !secure && isLocal(host);
      return new SandboxHosts(plain ? "http" : uri.getScheme(), host, uri.getPort(), false);
    } catch (URISyntaxException e) {
      throw wrong();
    }
  }

  private static boolean isLocal(String host) {
    return host.equals(LOCALHOST) || host.endsWith("." + LOCALHOST);
  }

  private static SandboxException wrong() {
    return SandboxException.invalid(
        "sandbox-domain",
        "must be a domain as boxes.example or https://boxes.example:8443, or none");
  }

  /** What clients of other programs are told to find sandboxes by; empty: not by name. */
  public String told() {
    return usual || domain.isEmpty() ? "" : port < 0 ? domain : domain + ":" + port;
  }

  /** As {@link #told()}, without a port. */
  public String domain() {
    return usual ? "" : domain;
  }

  /** Whether a name is one of those, or another below the domain that the operator chose. */
  boolean covers(String name) {
    if (domain.isEmpty()) {
      return false;
    }
    return usual ? find(name).isPresent() : name.endsWith("." + domain);
  }

  /** What a request addresses, when that is a port of a sandbox. */
  public Optional<Place> find(String authority) {
    String name = HostGuard.nameOf(authority);
    if (domain.isEmpty() || !name.endsWith("." + domain)) {
      return Optional.empty();
    }
    String label = name.substring(0, name.length() - domain.length() - 1);
    int dash = label.indexOf('-');
    if (dash < 1 || dash > 5 || !label.substring(0, dash).chars().allMatch(SandboxHosts::isDigit)) {
      return Optional.empty();
    }
    int found = Integer.parseInt(label.substring(0, dash));
    try {
      var id = new SandboxId(label.substring(dash + 1));
      return found < 1 || found > MAX_PORT ? Optional.empty() : Optional.of(new Place(id, found));
    } catch (SandboxException e) {
      return Optional.empty();
    }
  }

  private static boolean isDigit(int c) {
    return c >= '0' && c <= '9';
  }

  /**
   * Where a browser finds a port of a sandbox; empty when it has no name.
   *
   * @param authority that the server was addressed by just now
   */
  public Optional<String> origin(Place place, String authority) {
    if (domain.isEmpty()) {
      return Optional.empty();
    }
    String suffix = port < 0 ? "" : ":" + port;
    if (usual) {
      String name = HostGuard.nameOf(authority);
      suffix = authority.substring(name.length());
    }
    return Optional.of(
        scheme + "://" + place.port() + "-" + place.sandbox() + "." + domain + suffix);
  }

  /** A port of a sandbox. */
  public record Place(SandboxId sandbox, int port) {}
}
