package dev.carrel.sdk;

import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A secret; its value never comes back.
 *
 * @param name the variable that a process gets it in
 * @param version grows with each rotation
 * @param canary whether a sandbox that lets it out is frozen
 * @param hosts that requests may carry it to, while processes get a placeholder; empty: processes
 *     get it themselves
 * @param source store, or environment: one of the server's own variables
 */
public record SecretInfo(
    String namespace,
    String name,
    long version,
    boolean canary,
    List<String> hosts,
    String source,
    @Nullable Instant createdAt,
    @Nullable Instant updatedAt) {
  public SecretInfo {
    hosts = List.copyOf(hosts);
  }
}
