package dev.carrel.control.audit;

import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A record as somebody reads it who wants to know what went on in a sandbox.
 *
 * @param id the record's number
 * @param kind one word: {@code exec}, {@code upload}, {@code start}, …
 * @param subject the command, the path or the name that it was about
 * @param outcome one word, such as {@code returned}
 */
public record Activity(
    long id,
    Instant at,
    String kind,
    @Nullable String subject,
    String principal,
    String outcome,
    @Nullable Integer exitCode,
    @Nullable Duration duration) {
  private static final Map<String, String> KINDS =
      Map.ofEntries(
          Map.entry("exec.run", "exec"),
          Map.entry("exec.start", "exec"),
          Map.entry("code.run", "code"),
          Map.entry("file.write", "upload"),
          Map.entry("file.append", "upload"),
          Map.entry("file.upload", "upload"),
          Map.entry("file.import", "upload"),
          Map.entry("file.read", "download"),
          Map.entry("file.pack", "download"),
          Map.entry("package.install", "install"),
          Map.entry("sandbox.created", "create"),
          Map.entry("sandbox.running", "start"),
          Map.entry("sandbox.paused", "pause"),
          Map.entry("sandbox.stopped", "stop"),
          Map.entry("sandbox.failed", "failure"),
          Map.entry("sandbox.destroyed", "delete"),
          Map.entry("sandbox.patch", "change"));

  static Activity of(AuditRecord record) {
    AuditEntry entry = record.entry();
    return new Activity(
        record.sequence(),
        record.at(),
        KINDS.getOrDefault(entry.action(), entry.action()),
        entry.details().getOrDefault("command", entry.subject()),
        entry.who().principal(),
        entry.outcome().cause(),
        entry.outcome().code(),
        entry.outcome().duration());
  }
}
