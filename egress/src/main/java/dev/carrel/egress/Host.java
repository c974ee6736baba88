package dev.carrel.egress;

import java.net.IDN;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * A host in its one canonical form: what is checked is what is dialled. Names are lower-case ASCII
 * without a trailing dot, IPv4 is four decimal numbers, IPv6 is as RFC 5952 writes it. Whatever
 * could be read in two ways is refused.
 */
public final class Host {
  private static final int MAX_NAME = 253;
  private static final Pattern LABEL =
      Pattern.compile("[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?", Pattern.CASE_INSENSITIVE);
  private static final Pattern BYTE = Pattern.compile("0|[1-9][0-9]{0,2}");
  // As browsers decide what is meant as an address: the last label alone tells.
  private static final Pattern NUMBER = Pattern.compile("[0-9]+|0[xX][0-9a-fA-F]*");
  private static final Pattern IPV6 = Pattern.compile("[0-9a-fA-F:]{2,39}");

  private final String text;
  private final Kind kind;

  private enum Kind {
    NAME,
    IPV4,
    IPV6
  }

  private Host(String text, Kind kind) {
    this.text = text;
    this.kind = kind;
  }

  /**
   * @param text a name, four decimal numbers, or an IPv6 address in brackets
   * @throws IllegalArgumentException says what is wrong with it
   */
  public static Host parse(String text) {
    if (text.startsWith("[")) {
      if (!text.endsWith("]")) {
        throw bad(text, "the bracket is not closed");
      }
      return ofIpv6(text.substring(1, text.length() - 1));
    }
    if (text.indexOf(':') >= 0) {
      throw bad(text, "an IPv6 address stands in brackets");
    }
    String name = text.endsWith(".") ? text.substring(0, text.length() - 1) : text;
    String ascii = toAscii(name);
    if (ascii.isEmpty() || ascii.length() > MAX_NAME) {
      throw bad(text, "a name has 1 to " + MAX_NAME + " characters");
    }
    String[] labels = ascii.split("\\.", -1);
    if (NUMBER.matcher(labels[labels.length - 1]).matches()) {
      return ofIpv4(ascii, labels);
    }
    for (String label : labels) {
      if (!LABEL.matcher(label).matches()) {
        throw bad(text, "not a host name");
      }
    }
    return new Host(ascii.toLowerCase(Locale.ROOT), Kind.NAME);
  }

  /** The address as a host of its own. */
  static Host of(InetAddress address) {
    String text = address.getHostAddress();
    return address instanceof Inet6Address ? ofIpv6(text) : new Host(text, Kind.IPV4);
  }

  private static Host ofIpv4(String text, String[] parts) {
    if (parts.length != 4) {
      throw bad(text, "an IPv4 address is four decimal numbers");
    }
    for (String part : parts) {
      // Zeros in front mean octal to some readers and nothing to others.
      if (!BYTE.matcher(part).matches() || Integer.parseInt(part) > 255) {
        throw bad(text, "an IPv4 address is four decimal numbers");
      }
    }
    return new Host(text, Kind.IPV4);
  }

  private static Host ofIpv6(String text) {
    if (!IPV6.matcher(text).matches()) {
      throw bad(text, "not an IPv6 address; zones and embedded IPv4 are not taken");
    }
    InetAddress address;
    try {
      address = InetAddress.ofLiteral(text);
    } catch (IllegalArgumentException e) {
      throw bad(text, "not an IPv6 address");
    }
    if (!(address instanceof Inet6Address)) {
      throw bad(text, "an IPv4 address is written as such");
    }
    return new Host(Ipv6Text.of(address.getAddress()), Kind.IPV6);
  }

  private static String toAscii(String name) {
    if (name.chars().allMatch(c -> c < 0x80)) {
      return name;
    }
    String lower = name.toLowerCase(Locale.ROOT);
    try {
      String ascii = IDN.toASCII(lower, IDN.USE_STD3_ASCII_RULES);
      // What the mapping changes (wide letters, other dots, invisible characters, the German ß) has
      // a second reading.
      if (IDN.toUnicode(ascii, IDN.USE_STD3_ASCII_RULES).equals(lower)) {
        return ascii;
      }
    } catch (IllegalArgumentException | IndexOutOfBoundsException e) {
      throw bad(name, "not an international host name");
    }
    throw bad(name, "an international name that can be read in two ways; use its xn-- form");
  }

  private static IllegalArgumentException bad(String text, String why) {
    return new IllegalArgumentException("host '" + Printable.of(text, 80) + "': " + why);
  }

  public boolean isName() {
    return kind == Kind.NAME;
  }

  /** The address that this is, without asking anybody; empty when it is a name. */
  public Optional<InetAddress> address() {
    return isName() ? Optional.empty() : Optional.of(InetAddress.ofLiteral(text));
  }

  /** Whether it is below {@code suffix} or that itself. */
  boolean within(Host suffix) {
    return isName() && (equals(suffix) || text.endsWith("." + suffix.text));
  }

  boolean hasDots() {
    return text.indexOf('.') >= 0;
  }

  /** Without brackets. */
  public String text() {
    return text;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Host host && host.text.equals(text);
  }

  @Override
  public int hashCode() {
    return text.hashCode();
  }

  /** As it stands in a URL. */
  @Override
  public String toString() {
    return kind == Kind.IPV6 ? "[" + text + "]" : text;
  }
}
