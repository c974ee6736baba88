package dev.carrel.egress;

/** IPv6 addresses as RFC 5952 writes them: lower case, the longest run of zeros left out. */
final class Ipv6Text {
  private static final int GROUPS = 8;

  private Ipv6Text() {}

  static String of(byte[] address) {
    int[] groups = new int[GROUPS];
    for (int i = 0; i < GROUPS; i++) {
      groups[i] = (address[2 * i] & 0xff) << 8 | (address[2 * i + 1] & 0xff);
    }
    int start = -1;
    int length = 1; // one zero alone is written out
    for (int i = 0; i < GROUPS; i++) {
      int run = 0;
      while (i + run < GROUPS && groups[i + run] == 0) {
        run++;
      }
      if (run > length) {
        start = i;
        length = run;
      }
    }
    var text = new StringBuilder();
    for (int i = 0; i < GROUPS; i++) {
      if (i == start) {
        text.append("::");
        i += length - 1;
        continue;
      }
      if (!text.isEmpty() && !text.toString().endsWith(":")) {
        text.append(':');
      }
      text.append(Integer.toHexString(groups[i]));
    }
    return text.toString();
  }
}
