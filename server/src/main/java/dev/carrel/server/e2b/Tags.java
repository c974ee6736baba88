package dev.carrel.server.e2b;

import dev.carrel.spi.ExecId;
import dev.carrel.spi.SandboxId;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/** Names that clients gave to processes; the oldest are forgotten. Safe for many threads. */
final class Tags {
  private static final int MAX = 10_000;

  private final Map<Tag, ExecId> known =
      new LinkedHashMap<>() {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<Tag, ExecId> eldest) {
          return size() > MAX;
        }
      };

  synchronized void put(SandboxId sandbox, String name, ExecId exec) {
    known.put(new Tag(sandbox, name), exec);
  }

  synchronized Optional<ExecId> find(SandboxId sandbox, String name) {
    return Optional.ofNullable(known.get(new Tag(sandbox, name)));
  }

  synchronized Optional<String> of(SandboxId sandbox, ExecId exec) {
    return known.entrySet().stream()
        .filter(entry -> entry.getKey().sandbox.equals(sandbox) && entry.getValue().equals(exec))
        .map(entry -> entry.getKey().name)
        .findFirst();
  }

  private record Tag(SandboxId sandbox, String name) {}
}
