package dev.carrel.control.vault;

import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Where keys and values come from besides the store.
 *
 * @param key Base64 of 32 bytes; null: a file in the data directory, made on the first start
 * @param environment variables of the server that are secrets of the tenant {@code default}, by
 *     their whole names
 */
public record VaultSettings(@Nullable String key, Map<String, String> environment) {
  public VaultSettings {
    environment = Map.copyOf(environment);
  }

  public static VaultSettings defaults() {
    return new VaultSettings(null, Map.of());
  }

  /** Never a key or a value. */
  @Override
  public String toString() {
    return "VaultSettings[key=%s, environment=%s]"
        .formatted(key == null ? "file" : "given", environment.keySet());
  }
}
