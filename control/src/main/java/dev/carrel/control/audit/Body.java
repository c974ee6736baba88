package dev.carrel.control.audit;

import dev.carrel.control.audit.AuditEntry.Outcome;
import dev.carrel.control.audit.AuditEntry.Who;
import dev.carrel.control.store.Lines;
import dev.carrel.spi.SandboxId;
import dev.carrel.spi.Text;
import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** The part of a record that is not searched, as one text. */
final class Body {
  private static final int MAX_CHANGES = 50;
  private static final String DETAIL = "detail ";

  private Body() {}

  static String text(AuditEntry entry, int outputChars) {
    Map<String, String> parts = new TreeMap<>();
    parts.put("principal", entry.who().principal());
    put(parts, "subject", entry.subject());
    put(parts, "digest", entry.digest());
    Outcome outcome = entry.outcome();
    parts.put("cause", outcome.cause());
    put(parts, "code", outcome.code());
    put(
        parts,
        "duration_us",
        outcome.duration() == null ? null : outcome.duration().toNanos() / 1000);
    put(parts, "stdout", shortened(outcome.stdout(), outputChars));
    put(parts, "stderr", shortened(outcome.stderr(), outputChars));
    put(parts, "isolation", outcome.isolation());
    if (!outcome.changes().isEmpty()) {
      parts.put("changes", Lines.ofChanges(outcome.changes(), MAX_CHANGES));
      parts.put("changes_total", String.valueOf(outcome.changes().size()));
    }
    entry.details().forEach((name, value) -> parts.put(DETAIL + name, value));
    return Lines.ofMap(parts);
  }

  static AuditEntry entry(StoredRecord stored) {
    Map<String, String> parts = Lines.toMap(stored.body());
    var details = new TreeMap<String, String>();
    parts.forEach(
        (name, value) -> {
          if (name.startsWith(DETAIL)) {
            details.put(name.substring(DETAIL.length()), value);
          }
        });
    String code = parts.get("code");
    String micros = parts.get("duration_us");
    return new AuditEntry(
        new Who(
            stored.tenant(),
            parts.getOrDefault("principal", ""),
            stored.namespace(),
            stored.sandbox() == null ? null : new SandboxId(stored.sandbox())),
        stored.action(),
        parts.get("subject"),
        parts.get("digest"),
        new Outcome(
            parts.getOrDefault("cause", ""),
            code == null ? null : Integer.valueOf(code),
            micros == null ? null : Duration.ofNanos(Long.parseLong(micros) * 1000),
            parts.get("stdout"),
            parts.get("stderr"),
            Lines.toChanges(parts.getOrDefault("changes", "")),
            parts.get("isolation")),
        details);
  }

  private static @Nullable String shortened(@Nullable String text, int limit) {
    if (text == null || text.isEmpty()) {
      return null;
    }
    if (text.length() <= limit) {
      return text;
    }
    return "%s\n… [%,d characters in all] …\n%s"
        .formatted(Text.head(text, limit - limit / 2), text.length(), Text.tail(text, limit / 2));
  }

  private static void put(Map<String, String> parts, String name, @Nullable Object value) {
    if (value != null) {
      parts.put(name, value.toString());
    }
  }
}
