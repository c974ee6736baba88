package dev.carrel.control.context;

import dev.carrel.control.idempotency.KeySettings;
import dev.carrel.spi.SandboxId;
import java.time.Instant;
import java.util.Collection;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Records of cells that were asked for with a key, oldest first. Those that are over go when their
 * sandbox has more of them than it may have keys, and when all together take more memory than they
 * may, from the tenants that have most; those that run stay and do not count: what they show has a
 * room of its own.
 */
final class KeptCells {
  private final long maxBytes;
  private final int maxOfSandbox;
  private final Map<String, Kept> cells = new LinkedHashMap<>();
  private final Map<String, Set<String>> bySandbox = new HashMap<>();

  KeptCells(KeySettings settings) {
    this.maxBytes = settings.keptCells().bytes();
    this.maxOfSandbox = settings.maxKeys();
  }

  synchronized void add(String id, String tenant, SandboxId sandbox, CellRecord cell) {
    cells.put(id, new Kept(tenant, sandbox, cell));
    Set<String> own = bySandbox.computeIfAbsent(sandbox.value(), _ -> new LinkedHashSet<>());
    own.add(id);
    if (own.size() > maxOfSandbox) {
      // Its key is gone by now, or goes with this one's; those of cells that run stay beside.
      List<String> over = own.stream().filter(old -> requireKept(old).cell.over()).toList();
      if (over.size() > maxOfSandbox) {
        remove(over.getFirst());
      }
    }
  }

  private Kept requireKept(String id) {
    return Objects.requireNonNull(cells.get(id));
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
    for (Iterator<Map.Entry<String, Kept>> oldest = cells.entrySet().iterator();
        oldest.hasNext(); ) {
      Map.Entry<String, Kept> entry = oldest.next();
      Kept kept = entry.getValue();
      if (held.getOrDefault(kept.tenant, 0L) > share && kept.cell.over()) {
        held.merge(kept.tenant, -kept.cell.size(), Long::sum);
        oldest.remove();
        forget(entry.getKey(), kept);
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

  /** Those of a sandbox that run, or ended after that; of none, where what has a key is no cell. */
  synchronized Set<String> since(String sandbox, Instant oldest) {
    return bySandbox.getOrDefault(sandbox, Set.of()).stream()
        .filter(id -> requireKept(id).cell.runsSince(oldest))
        .collect(Collectors.toUnmodifiableSet());
  }

  synchronized void remove(String id) {
    Kept kept = cells.remove(id);
    if (kept != null) {
      forget(id, kept);
    }
  }

  synchronized void removeAll(SandboxId sandbox) {
    Set<String> own = bySandbox.remove(sandbox.value());
    if (own != null) {
      cells.keySet().removeAll(own);
    }
  }

  private void forget(String id, Kept kept) {
    bySandbox.computeIfPresent(
        kept.sandbox.value(),
        (_, own) -> {
          own.remove(id);
          return own.isEmpty() ? null : own;
        });
  }

  private record Kept(String tenant, SandboxId sandbox, CellRecord cell) {}
}
