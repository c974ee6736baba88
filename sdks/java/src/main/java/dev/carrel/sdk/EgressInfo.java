package dev.carrel.sdk;

import java.util.List;

/**
 * The network of one sandbox.
 *
 * @param granted what a person allows beyond the policy
 * @param draft the least policy that allows what passed lately
 */
public record EgressInfo(
    NetworkPolicy policy,
    List<String> granted,
    long sentBytes,
    long receivedBytes,
    NetworkPolicy draft) {
  public EgressInfo {
    granted = List.copyOf(granted);
  }
}
