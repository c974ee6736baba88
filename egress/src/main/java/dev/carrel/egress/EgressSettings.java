package dev.carrel.egress;

import java.net.InetAddress;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/**
 * What the operator decides for all sandboxes.
 *
 * @param deny goes over every policy
 * @param privateHosts may be at an address that is not the internet
 * @param privateRanges may be reached although they are not the internet
 * @param pinned addresses of names, in place of what the resolver says; they are not checked
 * @param maxConnections of one sandbox at once
 * @param maxTotalConnections of all sandboxes at once; those of one owner never take them all
 * @param idleTimeout of a connection over which nothing passes
 */
public record EgressSettings(
    List<HostPattern> deny,
    List<HostPattern> privateHosts,
    List<AddressRange> privateRanges,
    Map<Host, List<InetAddress>> pinned,
    int maxConnections,
    int maxTotalConnections,
    Duration connectTimeout,
    Duration idleTimeout) {
  public EgressSettings {
    deny = List.copyOf(deny);
    privateHosts = List.copyOf(privateHosts);
    privateRanges = List.copyOf(privateRanges);
    pinned = Map.copyOf(pinned);
  }

  public static EgressSettings defaults() {
    return new EgressSettings(
        List.of(),
        List.of(),
        List.of(),
        Map.of(),
        128,
        4096,
        Duration.ofSeconds(10),
        Duration.ofMinutes(10));
  }

  public EgressSettings withPrivate(List<HostPattern> hosts, List<AddressRange> ranges) {
    return new EgressSettings(
        deny,
        hosts,
        ranges,
        pinned,
        maxConnections,
        maxTotalConnections,
        connectTimeout,
        idleTimeout);
  }

  public EgressSettings withPinned(Map<Host, List<InetAddress>> newPinned) {
    return new EgressSettings(
        deny,
        privateHosts,
        privateRanges,
        newPinned,
        maxConnections,
        maxTotalConnections,
        connectTimeout,
        idleTimeout);
  }

  public EgressSettings withDeny(List<HostPattern> newDeny) {
    return new EgressSettings(
        newDeny,
        privateHosts,
        privateRanges,
        pinned,
        maxConnections,
        maxTotalConnections,
        connectTimeout,
        idleTimeout);
  }

  public EgressSettings withMaxConnections(int newMaxConnections) {
    return new EgressSettings(
        deny,
        privateHosts,
        privateRanges,
        pinned,
        newMaxConnections,
        maxTotalConnections,
        connectTimeout,
        idleTimeout);
  }

  public EgressSettings withMaxTotalConnections(int newMaxTotalConnections) {
    return new EgressSettings(
        deny,
        privateHosts,
        privateRanges,
        pinned,
        maxConnections,
        newMaxTotalConnections,
        connectTimeout,
        idleTimeout);
  }
}
