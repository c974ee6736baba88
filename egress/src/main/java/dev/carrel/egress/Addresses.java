package dev.carrel.egress;

import java.net.InetAddress;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Predicate;

/**
 * Which addresses are the internet. Everything else, the host's own network first of all, is out of
 * reach unless the operator opens it. So is the host itself by whatever address: who comes from
 * there is behind its firewall.
 */
final class Addresses {
  private static final AddressRange GLOBAL_IPV6 = AddressRange.parse("2000::/3");
  private static final Map<String, String> SPECIAL = new LinkedHashMap<>();

  static {
    SPECIAL.put("0.0.0.0/8", "this network");
    SPECIAL.put("10.0.0.0/8", "private");
    SPECIAL.put("100.64.0.0/10", "shared between carriers");
    SPECIAL.put("127.0.0.0/8", "loopback");
    SPECIAL.put("168.63.129.16/32", "cloud metadata");
    SPECIAL.put("169.254.0.0/16", "link-local and cloud metadata");
    SPECIAL.put("172.16.0.0/12", "private");
    SPECIAL.put("192.0.0.0/24", "for protocols");
    SPECIAL.put("192.0.2.0/24", "for documentation");
    SPECIAL.put("192.31.196.0/24", "for AS112");
    SPECIAL.put("192.52.193.0/24", "for AMT");
    SPECIAL.put("192.88.99.0/24", "6to4");
    SPECIAL.put("192.168.0.0/16", "private");
    SPECIAL.put("192.175.48.0/24", "for AS112");
    SPECIAL.put("198.18.0.0/15", "for benchmarks");
    SPECIAL.put("198.51.100.0/24", "for documentation");
    SPECIAL.put("203.0.113.0/24", "for documentation");
    SPECIAL.put("224.0.0.0/4", "multicast");
    SPECIAL.put("240.0.0.0/4", "reserved");
    SPECIAL.put("::1/128", "loopback");
    SPECIAL.put("64:ff9b::/96", "NAT64");
    SPECIAL.put("64:ff9b:1::/48", "NAT64");
    SPECIAL.put("fc00::/7", "unique local");
    SPECIAL.put("fe80::/10", "link-local");
    SPECIAL.put("ff00::/8", "multicast");
    SPECIAL.put("2001::/23", "for protocols, Teredo among them");
    SPECIAL.put("2001:db8::/32", "for documentation");
    SPECIAL.put("2002::/16", "6to4");
    SPECIAL.put("3fff::/20", "for documentation");
  }

  private record Special(AddressRange range, String what) {}

  private static final List<Special> RANGES =
      SPECIAL.entrySet().stream()
          .map(entry -> new Special(AddressRange.parse(entry.getKey()), entry.getValue()))
          .toList();

  private final List<HostPattern> openHosts;
  private final List<AddressRange> openRanges;
  private final Predicate<InetAddress> own;

  /**
   * @param openHosts that may be at any address
   * @param openRanges that may be reached although they are not the internet
   */
  Addresses(List<HostPattern> openHosts, List<AddressRange> openRanges) {
    this(openHosts, openRanges, new OwnAddresses());
  }

  /**
   * @param own which are this host's
   */
  Addresses(
      List<HostPattern> openHosts, List<AddressRange> openRanges, Predicate<InetAddress> own) {
    this.openHosts = openHosts;
    this.openRanges = openRanges;
    this.own = own;
  }

  /** Returns when a connection for this target may go to this address. */
  void require(Target target, InetAddress address) throws RefusedException {
    Optional<String> what = refusable(address);
    if (what.isPresent() && !open(target, address)) {
      throw new RefusedException(
          Reason.ADDRESS,
          "%s is at %s, which is %s; only the operator can open it, with egress.allow-private"
              .formatted(target, address.getHostAddress(), what.get()));
    }
  }

  /** As {@link #require}, whatever the operator opened. */
  void requireInternet(Target target, InetAddress address) throws RefusedException {
    Optional<String> what = refusable(address);
    if (what.isPresent()) {
      throw new RefusedException(
          Reason.ADDRESS,
          ("%s is at %s, which is %s; without a sandbox whose policy names it,"
                  + " only the internet is reached")
              .formatted(target, address.getHostAddress(), what.get()));
    }
  }

  private boolean open(Target target, InetAddress address) {
    return openRanges.stream().anyMatch(range -> range.contains(address))
        || openHosts.stream()
            .anyMatch(
                pattern ->
                    pattern.matches(target.host())
                        && (pattern.port() == 0 || pattern.port() == target.port()));
  }

  private Optional<String> refusable(InetAddress address) {
    Optional<String> what = special(address);
    return what.isEmpty() && own.test(address) ? Optional.of("this host's own") : what;
  }

  /** What the address is when it is not the internet. */
  static Optional<String> special(InetAddress address) {
    for (Special special : RANGES) {
      if (special.range().contains(address)) {
        return Optional.of(special.what());
      }
    }
    boolean ipv4 = address.getAddress().length == 4;
    return ipv4 || GLOBAL_IPV6.contains(address)
        ? Optional.empty()
        : Optional.of("not a global address");
  }
}
