package dev.carrel.control.egress;

import dev.carrel.control.audit.Audit;
import dev.carrel.control.audit.AuditEntry;
import dev.carrel.control.event.Events;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.egress.Decision;
import dev.carrel.egress.Gate;
import dev.carrel.spi.SandboxId;
import java.time.Duration;
import java.time.Instant;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What was decided for one sandbox: like decisions are counted, and told and recorded once in a
 * while. Bounded, whatever a sandbox asks for.
 */
final class DecisionLog implements Gate.Witness {
  private static final int MOST = 500;
  private static final Duration TOLD_AGAIN = Duration.ofMinutes(1);
  private static final int EVENTS_PER_SECOND = 10;

  private final SandboxId sandbox;
  private final Events events;
  private final Audit audit;
  // Oldest first: the least used goes when there is no room.
  private final Map<Key, Counted> counted = new LinkedHashMap<>(16, 0.75f, true);
  private @Nullable Sandbox owner;
  private long second;
  private int toldInSecond;

  DecisionLog(SandboxId sandbox, Events events, Audit audit) {
    this.sandbox = sandbox;
    this.events = events;
    this.audit = audit;
  }

  private record Key(
      Decision.Outcome outcome, String host, int port, @Nullable String method, String why) {}

  private static final class Counted {
    private final Instant first;
    private Decision last;
    private long count;
    private Instant told = Instant.MIN;

    Counted(Decision decision) {
      this.first = decision.at();
      this.last = decision;
    }
  }

  /** Whose it is; until that is known nobody is told. */
  synchronized void owner(Sandbox newOwner) {
    owner = newOwner;
  }

  @Override
  public void decided(Decision decision) {
    String why = decision.reason() == null ? "" : decision.reason().wireName();
    var key = new Key(decision.outcome(), decision.host(), decision.port(), decision.method(), why);
    Sandbox whose;
    synchronized (this) {
      Counted entry = counted.computeIfAbsent(key, _ -> new Counted(decision));
      entry.count++;
      entry.last = decision;
      if (counted.size() > MOST) {
        counted.remove(counted.keySet().iterator().next());
      }
      whose = toTell(entry, decision) ? owner : null;
    }
    if (whose != null) {
      tell(whose, decision);
    }
  }

  private void tell(Sandbox whose, Decision decision) {
    String what = wireName(decision.outcome());
    Map<String, String> details = details(decision);
    events.tell(whose.tenant(), whose.namespace(), "egress." + what, sandbox, details);
    var who = new AuditEntry.Who(whose.tenant(), AuditEntry.Who.SERVER, whose.namespace(), sandbox);
    audit.later(
        AuditEntry.of(who, "egress." + what, AuditEntry.Outcome.of(what))
            .withSubject(decision.host() + ":" + decision.port())
            .withDetails(details));
  }

  private boolean toTell(Counted entry, Decision decision) {
    long now = decision.at().getEpochSecond();
    if (now != second) {
      second = now;
      toldInSecond = 0;
    }
    if (toldInSecond >= EVENTS_PER_SECOND || entry.told.plus(TOLD_AGAIN).isAfter(decision.at())) {
      return false;
    }
    toldInSecond++;
    entry.told = decision.at();
    return true;
  }

  private static Map<String, String> details(Decision decision) {
    var details = new LinkedHashMap<String, String>();
    details.put("protocol", decision.protocol());
    details.put("host", decision.host());
    details.put("port", Integer.toString(decision.port()));
    if (decision.method() != null) {
      details.put("method", decision.method());
    }
    if (decision.reason() != null) {
      details.put("reason", decision.reason().wireName());
    }
    if (decision.rule() != null) {
      details.put("rule", decision.rule());
    }
    return details;
  }

  static String wireName(Decision.Outcome outcome) {
    return switch (outcome) {
      case ALLOWED -> "allowed";
      case DENIED -> "denied";
      case OBSERVED -> "observed";
      case FAILED -> "failed";
    };
  }

  /** Latest first. */
  synchronized List<CountedDecision> all() {
    return counted.values().stream()
        .map(entry -> new CountedDecision(entry.last, entry.count, entry.first))
        .sorted(Comparator.comparing((CountedDecision d) -> d.last().at()).reversed())
        .toList();
  }
}
