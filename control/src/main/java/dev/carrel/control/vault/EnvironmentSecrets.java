package dev.carrel.control.vault;

import dev.carrel.spi.SandboxException;
import dev.carrel.spi.Text;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Secrets in the server's own environment: {@code CARREL_SECRET_NAMESPACE_NAME}. They are the
 * operator's, and so the tenant {@code default}'s alone.
 */
final class EnvironmentSecrets {
  static final String TENANT = "default";

  private static final List<String> PREFIXES = List.of("CARREL_SECRET_", "SANDBOXMCP_SECRET_");

  private static final Logger LOG = LoggerFactory.getLogger(EnvironmentSecrets.class);

  private final Map<String, String> variables;
  private final Set<String> told = ConcurrentHashMap.newKeySet();

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

  /** Whether it can be used as a secret; told once when it cannot, never its value. */
  boolean isUsable(String tenant, String namespace, String name) {
    try {
      Secret.checkName("name", name);
      find(tenant, namespace, name).ifPresent(Secret::checkValue);
      return true;
    } catch (SandboxException e) {
      if (told.add(namespace + "/" + name)) {
        LOG.warn(
            "the secret {} of {} in the server's environment cannot be used: {}",
            Text.printable(name, 64),
            namespace,
            e.message());
      }
      return false;
    }
  }

  private static String inVariable(String namespace) {
    return namespace.toUpperCase(Locale.ROOT).replaceAll("[^A-Z0-9]", "_");
  }
}
