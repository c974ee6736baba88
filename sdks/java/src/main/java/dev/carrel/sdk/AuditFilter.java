package dev.carrel.sdk;

import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Which records are wanted; what is null does not matter.
 *
 * @param action the whole word, or its first part
 */
public record AuditFilter(
    @Nullable String namespace,
    @Nullable String sandbox,
    @Nullable String action,
    @Nullable Instant since) {
  public static AuditFilter all() {
    return new AuditFilter(null, null, null, null);
  }

  public AuditFilter withNamespace(@Nullable String newNamespace) {
    return new AuditFilter(newNamespace, sandbox, action, since);
  }

  public AuditFilter withSandbox(@Nullable String newSandbox) {
    return new AuditFilter(namespace, newSandbox, action, since);
  }

  public AuditFilter withAction(@Nullable String newAction) {
    return new AuditFilter(namespace, sandbox, newAction, since);
  }

  public AuditFilter withSince(@Nullable Instant newSince) {
    return new AuditFilter(namespace, sandbox, action, newSince);
  }

  Map<String, String> parameters() {
    var parameters = new LinkedHashMap<String, String>();
    put(parameters, "namespace", namespace);
    put(parameters, "sandbox", sandbox);
    put(parameters, "action", action);
    put(parameters, "since", since);
    return parameters;
  }

  private static void put(Map<String, String> parameters, String name, @Nullable Object value) {
    if (value != null) {
      parameters.put(name, value.toString());
    }
  }
}
