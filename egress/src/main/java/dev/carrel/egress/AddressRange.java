package dev.carrel.egress;

import java.net.InetAddress;
import java.util.Arrays;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Addresses that begin with the same bits. */
public final class AddressRange {
  private static final Pattern CIDR = Pattern.compile("([0-9a-fA-F.:]+)/([0-9]{1,3})");

  private final byte[] network;
  private final int bits;

  private AddressRange(byte[] network, int bits) {
    this.network = network;
    this.bits = bits;
  }

  /**
   * @param text for example {@code 10.1.0.0/16}
   * @throws IllegalArgumentException when it is not a range
   */
  public static AddressRange parse(String text) {
    Matcher parts = CIDR.matcher(text);
    if (!parts.matches()) {
      throw new IllegalArgumentException("'" + Printable.of(text, 80) + "' is not a range");
    }
    String first = String.valueOf(parts.group(1));
    byte[] network =
        Host.parse(first.contains(":") ? "[" + first + "]" : first)
            .address()
            .orElseThrow(() -> new IllegalArgumentException("'" + text + "' is not a range"))
            .getAddress();
    int bits = Integer.parseInt(parts.group(2));
    if (bits > network.length * Byte.SIZE) {
      throw new IllegalArgumentException("'" + text + "' has too many bits");
    }
    return new AddressRange(network, bits);
  }

  public static boolean isRange(String text) {
    return CIDR.matcher(text).matches();
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof AddressRange range
        && range.bits == bits
        && Arrays.equals(range.network, network);
  }

  @Override
  public int hashCode() {
    return 31 * Arrays.hashCode(network) + bits;
  }

  public boolean contains(InetAddress address) {
    byte[] other = address.getAddress();
    if (other.length != network.length) {
      return false;
    }
    int whole = bits / Byte.SIZE;
    if (!Arrays.equals(network, 0, whole, other, 0, whole)) {
      return false;
    }
    int rest = bits % Byte.SIZE;
    int mask = 0xff00 >> rest & 0xff;
    return rest == 0 || (network[whole] & mask) == (other[whole] & mask);
  }
}
