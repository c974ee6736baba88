package dev.carrel.control.vault;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/**
 * Secrets in the server's own environment: {@code CARREL_SECRET_NAMESPACE_NAME}. They are the
 * operator's, and so the tenant {@code default}'s alone.
 */
final class EnvironmentSecrets {
  static final String TENANT = "default";

  private static final List<String> PREFIXES = List.of("CARREL_SECRET_", "SANDBOXMCP_SECRET_");

  private final Map<String, String> variables;

  EnvironmentSecrets(Map<String, String> variables) {
    this.variables = variables;
  }

  Optional<String> find(String tenant, String namespace, String name) {
    if (!tenant.equals(TENANT)) {
      return Optional.empty();
    }
    return PREFIXES.stream()
        .map(prefix -> variables.get(prefix + inVariable(namespace) + "_" + name))
        .filter(value -> value != null)
        .findFirst();
  }

  /** What they are called there. */
  List<String> names(String tenant, String namespace) {
    var names = new ArrayList<String>();
    if (tenant.equals(TENANT)) {
      for (String prefix : PREFIXES) {
        String start = prefix + inVariable(namespace) + "_";
        variables.keySet().stream()
            .filter(variable -> variable.startsWith(start) && variable.length() > start.length())
            .map(variable -> variable.substring(start.length()))
            .filter(name -> !names.contains(name))
            .forEach(names::add);
      }
    }
    return names;
  }

  private static String inVariable(String namespace) {
    return namespace.toUpperCase(Locale.ROOT).replaceAll("[^A-Z0-9]", "_");
  }
}
