package dev.carrel.control.sandbox;

import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A change to a sandbox; null means as it is. */
public record PatchSandbox(
    CreateSandbox.Size size,
    CreateSandbox.Expiry expiry,
    @Nullable Boolean networkEnabled,
    @Nullable Map<String, String> envVars,
    @Nullable Map<String, String> metadata) {

  public PatchSandbox {
    envVars = envVars == null ? null : Map.copyOf(envVars);
    metadata = metadata == null ? null : Map.copyOf(metadata);
  }
}
