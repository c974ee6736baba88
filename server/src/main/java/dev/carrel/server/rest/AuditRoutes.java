package dev.carrel.server.rest;

import dev.carrel.control.audit.Audit;
import dev.carrel.control.audit.AuditEntry;
import dev.carrel.control.audit.AuditEntry.Outcome;
import dev.carrel.control.audit.AuditQuery;
import dev.carrel.control.audit.AuditRecord;
import dev.carrel.control.audit.AuditVerdict;
import dev.carrel.server.http.EventStream;
import dev.carrel.server.http.Exchange;
import dev.carrel.server.http.Json;
import dev.carrel.server.http.Query;
import dev.carrel.server.http.Router;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import io.helidon.http.HeaderNames;
import java.io.IOException;
import java.io.OutputStream;
import java.time.Duration;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What was done, by whom. */
final class AuditRoutes {
  private static final String ALL = "/api/v1/audit";
  private static final int PAGE = 100;

  private final Audit audit;

  AuditRoutes(Audit audit) {
    this.audit = audit;
  }

  void addTo(Router router) {
    router
        .get(ALL, this::list)
        .get(ALL + "/export", this::export)
        .get(ALL + "/key", this::key)
        .post(ALL + "/verify", this::verify);
  }

  private void list(Exchange exchange) throws IOException, InterruptedException {
    AuditQuery query = query(exchange.query());
    if (exchange.accepts("text/event-stream")) {
      follow(exchange, query);
      return;
    }
    List<RecordView> records =
        audit.page(exchange.caller(), query).stream().map(RecordView::of).toList();
    boolean more = records.size() == query.limit();
    exchange.json(200, new Page(records, more ? records.getLast().sequence() : null));
  }

  private void follow(Exchange exchange, AuditQuery query)
      throws IOException, InterruptedException {
    Long after = EventRoutes.after(exchange);
    long seen = after != null ? after : query.after() != null ? query.after() : audit.last();
    EventStream events = exchange.events();
    events.keepAlive();
    while (true) {
      long last = audit.last();
      List<AuditRecord> news = audit.page(exchange.caller(), query.withAfter(seen));
      for (AuditRecord record : news) {
        events.send("record", record.sequence(), RecordView.of(record));
        seen = record.sequence();
      }
      if (news.isEmpty()) {
        // Nothing up to there was wanted.
        seen = Math.max(seen, last);
        if (!audit.await(seen, events.patience())) {
          events.keepAlive();
        }
      }
    }
  }

  /** Oldest first, a record a line. */
  private void export(Exchange exchange) throws IOException {
    Query asked = exchange.query();
    AuditQuery query = query(asked).withLimit(AuditQuery.MAX_LIMIT);
    long last = audit.last();
    exchange.header(HeaderNames.CONTENT_TYPE, "application/jsonl");
    try (OutputStream out = exchange.output(200, -1)) {
      long seen = query.after() == null ? 0 : query.after();
      while (true) {
        List<AuditRecord> piece = audit.page(exchange.caller(), query.withAfter(seen));
        for (AuditRecord record : piece) {
          if (record.sequence() > last) {
            return;
          }
          out.write(Json.bytes(RecordView.of(record)));
          out.write('\n');
          seen = record.sequence();
        }
        if (piece.isEmpty()) {
          return;
        }
      }
    }
  }

  private void key(Exchange exchange) {
    exchange.json(200, new KeyView(audit.key().id(), "Ed25519", audit.key().publicKey()));
  }

  private void verify(Exchange exchange) {
    AuditVerdict verdict = audit.verify(exchange.caller());
    exchange.json(
        200,
        new VerdictView(
            verdict.intact(),
            verdict.records(),
            verdict.first(),
            verdict.last(),
            verdict.checkpoints(),
            verdict.problems().stream()
                .map(
                    problem ->
                        new ProblemView(
                            problem.kind().wireName(), problem.sequence(), problem.message()))
                .toList()));
  }

  private static AuditQuery query(Query query) {
    return new AuditQuery(
        query.text("namespace").orElse(null),
        query.text("sandbox").map(SandboxId::new).orElse(null),
        query.text("action").orElse(null),
        query.text("since").map(AuditRoutes::instant).orElse(null),
        position(query, "before"),
        position(query, "after"),
        (int) query.number("limit", PAGE, 1, AuditQuery.MAX_LIMIT));
  }

  private static @Nullable Long position(Query query, String name) {
    long value = query.number(name, -1, 0, Long.MAX_VALUE);
    return value < 0 ? null : value;
  }

  private static Instant instant(String text) {
    try {
      // RFC 3339 ends with the year 9999; with a sign Java reads years that no record can have.
      if (Character.isDigit(text.charAt(0))) {
        return Instant.parse(text);
      }
    } catch (DateTimeParseException e) {
      // Said below.
    }
    throw SandboxException.invalid("since", "must be a time such as 2026-01-31T12:00:00Z");
  }

  record Page(List<RecordView> records, @Nullable Long next) {}

  record RecordView(
      long sequence,
      String at,
      String tenant,
      String principal,
      String namespace,
      @Nullable String sandboxId,
      String action,
      @Nullable String subject,
      @Nullable String requestDigest,
      String cause,
      @Nullable Integer exitCode,
      @Nullable Double durationMs,
      @Nullable String stdout,
      @Nullable String stderr,
      List<ExecViews.FileChange> filesChanged,
      @Nullable String isolation,
      Map<String, String> details,
      String hash) {
    private static final double NANOS = 1e6;

    static RecordView of(AuditRecord record) {
      AuditEntry entry = record.entry();
      SandboxId sandbox = entry.who().sandbox();
      Outcome outcome = entry.outcome();
      Duration duration = outcome.duration();
      return new RecordView(
          record.sequence(),
          record.at().toString(),
          entry.who().tenant(),
          entry.who().principal(),
          entry.who().namespace(),
          sandbox == null ? null : sandbox.value(),
          entry.action(),
          entry.subject(),
          entry.digest(),
          outcome.cause(),
          outcome.code(),
          duration == null ? null : duration.toNanos() / NANOS,
          outcome.stdout(),
          outcome.stderr(),
          ExecViews.FileChange.of(outcome.changes()),
          outcome.isolation(),
          entry.details(),
          record.hash());
    }
  }

  record KeyView(String id, String algorithm, String publicKey) {}

  record VerdictView(
      boolean intact,
      long records,
      long first,
      long last,
      long checkpoints,
      List<ProblemView> problems) {}

  record ProblemView(String kind, long sequence, String message) {}
}
