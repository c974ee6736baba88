package dev.carrel.control.vault;

import dev.carrel.control.audit.Audit;
import dev.carrel.control.audit.AuditEntry;
import dev.carrel.control.audit.AuditEntry.Outcome;
import dev.carrel.control.audit.AuditEntry.Who;
import dev.carrel.control.sandbox.RunningSandbox;
import dev.carrel.egress.Target;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Puts on record where the values of one sandbox's secrets went, every use of them; those within a
 * second of each other share a record, since a sandbox can ask as often as it likes.
 */
final class BrokerUses {
  private static final long TOGETHER = Duration.ofSeconds(1).toNanos();
  private static final int MOST = 200;

  private final RunningSandbox sandbox;
  private final Audit audit;
  // Oldest first: it is written when there is no room.
  private final Map<Key, Counted> counted = new LinkedHashMap<>(16, 0.75f, true);

  private record Key(String secret, Target target) {}

  private static final class Counted {
    private long uses;
    private long written = System.nanoTime() - TOGETHER;
  }

  BrokerUses(RunningSandbox sandbox, Audit audit) {
    this.sandbox = sandbox;
    this.audit = audit;
  }

  synchronized void count(String secret, Target target) {
    var key = new Key(secret, target);
    Counted entry = counted.computeIfAbsent(key, _ -> new Counted());
    entry.uses++;
    long now = System.nanoTime();
    if (now - entry.written >= TOGETHER) {
      write(key, entry);
      entry.written = now;
    }
    if (counted.size() > MOST) {
      Map.Entry<Key, Counted> oldest = counted.entrySet().iterator().next();
      write(oldest.getKey(), oldest.getValue());
      counted.remove(oldest.getKey());
    }
  }

  /** Writes what was counted and not written yet. */
  synchronized void flush() {
    counted.forEach(this::write);
    counted.clear();
  }

  private void write(Key key, Counted entry) {
    if (entry.uses == 0) {
      return;
    }
    audit.later(
        AuditEntry.of(
                new Who(sandbox.tenant(), Who.SERVER, sandbox.namespace(), sandbox.id()),
                "secret.broker",
                Outcome.OK)
            .withSubject(key.secret())
            .withDetails(
                Map.of("host", key.target().toString(), "uses", Long.toString(entry.uses))));
    entry.uses = 0;
  }
}
