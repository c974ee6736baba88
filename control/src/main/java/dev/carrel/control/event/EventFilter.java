package dev.carrel.control.event;

import dev.carrel.spi.SandboxId;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Which events a reader wants.
 *
 * @param tenant null: of all of them
 * @param namespace null: of any
 * @param sandbox null: whatever it is about
 * @param kinds whole words such as {@code sandbox.stopped}, or their first part; none: all
 */
public record EventFilter(
    @Nullable String tenant,
    @Nullable String namespace,
    @Nullable SandboxId sandbox,
    Set<String> kinds) {
  public EventFilter {
    kinds = Set.copyOf(kinds);
  }

  public static EventFilter of(@Nullable String tenant) {
    return new EventFilter(tenant, null, null, Set.of());
  }

  public EventFilter withNamespace(@Nullable String newNamespace) {
    return new EventFilter(tenant, newNamespace, sandbox, kinds);
  }

  public EventFilter withSandbox(@Nullable SandboxId newSandbox) {
    return new EventFilter(tenant, namespace, newSandbox, kinds);
  }

  public EventFilter withKinds(Set<String> newKinds) {
    return new EventFilter(tenant, namespace, sandbox, newKinds);
  }

  boolean wants(Event event) {
    return (namespace == null || namespace.equals(event.namespace()))
        && (sandbox == null || sandbox.equals(event.sandbox()))
        && (kinds.isEmpty() || kinds.contains(event.kind()) || kinds.contains(family(event)));
  }

  private static String family(Event event) {
    int dot = event.kind().indexOf('.');
    return dot < 0 ? event.kind() : event.kind().substring(0, dot);
  }
}
