package dev.carrel.dist.config;

import dev.carrel.control.vault.VaultSettings;
import java.util.Map;
import java.util.TreeMap;

/**
 * What the vault takes from the surroundings. No settings: those are listed and kept in files, and
 * these are secrets.
 */
final class VaultKeys {
  static final String KEY = "CARREL_VAULT_KEY";
  static final String SECRET = "CARREL_SECRET_";

  private static final String OTHER_SECRET = "SANDBOXMCP_SECRET_";

  private VaultKeys() {}

  static VaultSettings read(Environment environment) {
    Map<String, String> secrets = new TreeMap<>(environment.variables());
    secrets.keySet().removeIf(name -> !name.startsWith(SECRET) && !name.startsWith(OTHER_SECRET));
    return new VaultSettings(environment.variable(KEY).orElse(null), secrets);
  }
}
