package dev.carrel.control.sandbox;

import dev.carrel.spi.SandboxId;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The last deleted sandboxes, so that a repeated DELETE is told apart from a wrong id. In memory
 * only: after a restart a repeated one finds nothing, as any other call does.
 */
final class RecentlyDeleted {
  private static final int MAX = 10_000;

  private final Map<SandboxId, String> tenants =
      new LinkedHashMap<>() {
        @Override
        protected boolean removeEldestEntry(Map.Entry<SandboxId, String> eldest) {
          return size() > MAX;
        }
      };

  synchronized void add(SandboxId id, String tenant) {
    tenants.put(id, tenant);
  }

  synchronized boolean contains(SandboxId id, Caller caller) {
    String tenant = tenants.get(id);
    return tenant != null && (tenant.equals(caller.tenant()) || caller.role() == Caller.Role.ADMIN);
  }
}
