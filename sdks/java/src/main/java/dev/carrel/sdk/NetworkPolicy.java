package dev.carrel.sdk;

import java.util.List;
import java.util.Set;

/**
 * What a sandbox may reach. Deny goes over allow, and what nothing allows is denied.
 *
 * @param mode {@code enforce}, or {@code observe}: everything passes and is noted
 * @param allow rules such as {@code example.com}, {@code *.example.com:8443} or {@code
 *     mirror.example GET,HEAD /simple/*}
 * @param deny hosts
 * @param presets sets of rules that the server knows, such as {@code packages}
 * @param maxBytes both ways, in all; 0: no limit
 * @param bytesPerSecond both ways; 0: no limit
 */
public record NetworkPolicy(
    String mode,
    List<String> allow,
    List<String> deny,
    Set<String> presets,
    long maxBytes,
    long bytesPerSecond) {
  public static final NetworkPolicy NOTHING =
      new NetworkPolicy("enforce", List.of(), List.of(), Set.of(), 0, 0);

  public NetworkPolicy {
    allow = List.copyOf(allow);
    deny = List.copyOf(deny);
    presets = Set.copyOf(presets);
  }

  public NetworkPolicy withMode(String value) {
    return new NetworkPolicy(value, allow, deny, presets, maxBytes, bytesPerSecond);
  }

  public NetworkPolicy withAllow(List<String> value) {
    return new NetworkPolicy(mode, value, deny, presets, maxBytes, bytesPerSecond);
  }

  public NetworkPolicy withDeny(List<String> value) {
    return new NetworkPolicy(mode, allow, value, presets, maxBytes, bytesPerSecond);
  }

  public NetworkPolicy withPresets(Set<String> value) {
    return new NetworkPolicy(mode, allow, deny, value, maxBytes, bytesPerSecond);
  }

  public NetworkPolicy withMaxBytes(long value) {
    return new NetworkPolicy(mode, allow, deny, presets, value, bytesPerSecond);
  }

  public NetworkPolicy withBytesPerSecond(long value) {
    return new NetworkPolicy(mode, allow, deny, presets, maxBytes, value);
  }
}
