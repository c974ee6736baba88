package dev.carrel.egress;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Where a connection is to go. */
public record Target(Host host, int port) {
  private static final Pattern PORT = Pattern.compile("[1-9][0-9]{0,4}");
  private static final Pattern AUTHORITY = Pattern.compile("(\\[[^\\]]*\\]|[^:]*)(?::(.*))?");
  private static final int MAX_PORT = 65535;

  public Target {
    if (port < 1 || port > MAX_PORT) {
      throw new IllegalArgumentException("port " + port + ": must be between 1 and " + MAX_PORT);
    }
  }

  /**
   * @param authority host and port as they stand in a URL, without user
   * @param usualPort where none is written; 0: one must be written
   * @throws IllegalArgumentException says what is wrong with it
   */
  public static Target parse(String authority, int usualPort) {
    Matcher parts = AUTHORITY.matcher(authority);
    if (authority.indexOf('@') >= 0 || !parts.matches()) {
      throw new IllegalArgumentException(
          "'" + Printable.of(authority, 80) + "' is not host and port alone");
    }
    String port = parts.group(2);
    if (port == null && usualPort == 0) {
      throw new IllegalArgumentException("'" + Printable.of(authority, 80) + "' has no port");
    }
    return new Target(
        Host.parse(String.valueOf(parts.group(1))), port == null ? usualPort : portOf(port));
  }

  static int portOf(String text) {
    if (!PORT.matcher(text).matches() || Integer.parseInt(text) > MAX_PORT) {
      throw new IllegalArgumentException("port '" + Printable.of(text, 20) + "': not a port");
    }
    return Integer.parseInt(text);
  }

  /** As it stands in a Host header: the port only where it is not the usual one. */
  String authority(int usualPort) {
    return port == usualPort ? host.toString() : toString();
  }

  @Override
  public String toString() {
    return host + ":" + port;
  }
}
