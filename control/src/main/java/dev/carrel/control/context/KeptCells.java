package dev.carrel.control.context;

import dev.carrel.control.idempotency.KeySettings;
import dev.carrel.spi.SandboxId;
import java.time.Instant;
import java.util.Collection;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Records of cells that were asked for with a key, oldest first. Those that are over go when all
 * together take more memory than they may, from the tenants that have most; those that run stay and
 * do not count: what they show has a room of its own.
 */
final class KeptCells {
  private final long maxBytes;
  private final Map<String, Kept> cells = new LinkedHashMap<>();

  KeptCells(KeySettings settings) {
    this.maxBytes = settings.keptCells().bytes();
  }

  synchronized void add(String id, String tenant, SandboxId sandbox, CellRecord cell) {
    cells.put(id, new Kept(tenant, sandbox, cell));
  }

  /** To be called when one of them is over: from then on it counts. */
  synchronized void trim() {
    var held = new HashMap<String, Long>();
    for (Kept kept : cells.values()) {
      if (kept.cell.over()) {
        held.merge(kept.tenant, kept.cell.size(), Long::sum);
      }
    }
    long share = share(held.values());
    for (Iterator<Kept> oldest = cells.values().iterator(); oldest.hasNext(); ) {
      Kept kept = oldest.next();
      if (held.getOrDefault(kept.tenant, 0L) > share && kept.cell.over()) {
        held.merge(kept.tenant, -kept.cell.size(), Long::sum);
        oldest.remove();
      }
    }
  }

  /** What each tenant may have: who has less leaves the rest to the others. */
  private long share(Collection<Long> held) {
    long left = maxBytes;
    int tenants = held.size();
    for (long one : held.stream().sorted().toList()) {
      if (one > left / tenants) {
        return left / tenants;
      }
      left -= one;
      tenants--;
    }
    return Long.MAX_VALUE;
  }

  synchronized Optional<CellRecord> find(String id) {
    return Optional.ofNullable(cells.get(id)).map(Kept::cell);
  }

  /** Those of a sandbox that run, or ended after that. */
  synchronized Set<String> since(String sandbox, Instant oldest) {
    return cells.entrySet().stream()
        .filter(entry -> entry.getValue().sandbox.value().equals(sandbox))
        .filter(entry -> entry.getValue().cell.runsSince(oldest))
        .map(Map.Entry::getKey)
        .collect(Collectors.toUnmodifiableSet());
  }

  synchronized void remove(String id) {
    cells.remove(id);
  }

  synchronized void removeAll(SandboxId sandbox) {
    cells.values().removeIf(kept -> kept.sandbox.equals(sandbox));
  }

  private record Kept(String tenant, SandboxId sandbox, CellRecord cell) {}
}
