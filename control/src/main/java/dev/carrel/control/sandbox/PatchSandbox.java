package dev.carrel.control.sandbox;

import dev.carrel.egress.Policy;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A change to a sandbox; null means as it is. */
public record PatchSandbox(
    CreateSandbox.Size size,
    CreateSandbox.Expiry expiry,
    CreateSandbox.Network network,
    @Nullable Map<String, String> envVars,
    @Nullable Map<String, String> metadata) {

  public PatchSandbox {
    envVars = envVars == null ? null : Map.copyOf(envVars);
    metadata = metadata == null ? null : Map.copyOf(metadata);
  }

  /** Another policy, and nothing else. */
  public static PatchSandbox network(Policy policy) {
    return network(CreateSandbox.Network.of(policy));
  }

  /** Another network, and nothing else. */
  public static PatchSandbox network(CreateSandbox.Network network) {
    return new PatchSandbox(
        new CreateSandbox.Size(null, null, null, null),
        new CreateSandbox.Expiry(null, null, null),
        network,
        null,
        null);
  }
}
