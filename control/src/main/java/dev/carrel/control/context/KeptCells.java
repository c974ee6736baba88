package dev.carrel.control.context;

import dev.carrel.control.idempotency.KeySettings;
import dev.carrel.spi.SandboxId;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/**
 * Records of cells that were asked for with a key, oldest first. Those that are over go when all
 * together take more memory than they may; those that run stay.
 */
final class KeptCells {
  private final long maxBytes;
  private final Map<String, Kept> cells = new LinkedHashMap<>();

  KeptCells(KeySettings settings) {
    this.maxBytes = settings.keptCells().bytes();
  }

  synchronized void add(String id, SandboxId sandbox, CellRecord cell) {
    cells.put(id, new Kept(sandbox, cell));
    long total = cells.values().stream().mapToLong(kept -> kept.cell.size()).sum();
    for (Iterator<Kept> oldest = cells.values().iterator();
        total > maxBytes && oldest.hasNext(); ) {
      Kept kept = oldest.next();
      if (kept.cell != cell && kept.cell.over()) {
        total -= kept.cell.size();
        oldest.remove();
      }
    }
  }

  synchronized Optional<CellRecord> find(String id) {
    return Optional.ofNullable(cells.get(id)).map(Kept::cell);
  }

  synchronized void remove(String id) {
    cells.remove(id);
  }

  synchronized void removeAll(SandboxId sandbox) {
    cells.values().removeIf(kept -> kept.sandbox.equals(sandbox));
  }

  private record Kept(SandboxId sandbox, CellRecord cell) {}
}
