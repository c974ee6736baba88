package dev.carrel.server.rest;

import dev.carrel.control.approval.Approval;
import dev.carrel.control.approval.Approval.Kind;
import dev.carrel.control.approval.Approval.Scope;
import dev.carrel.control.approval.Approval.Status;
import dev.carrel.control.approval.Approvals;
import dev.carrel.control.approval.AskApproval;
import dev.carrel.server.http.Exchange;
import dev.carrel.server.http.Fields;
import dev.carrel.server.http.Query;
import dev.carrel.server.http.Router;
import dev.carrel.spi.ApprovalId;
import dev.carrel.spi.SandboxId;
import io.helidon.http.HeaderNames;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What a person has to allow first. */
final class ApprovalRoutes {
  private static final String ALL = "/api/v1/approvals";
  private static final String ONE = ALL + "/{approval}";
  private static final int MAX_WAIT_SECONDS = 300;
  private static final int MAX_SECONDS = 3650 * 24 * 3600;
  private static final int PAGE = 100;

  private final Approvals approvals;

  ApprovalRoutes(Approvals approvals) {
    this.approvals = approvals;
  }

  void addTo(Router router) {
    router
        .post(ALL, this::ask)
        .get(ALL, this::list)
        .get(ONE, this::get)
        .post(ONE + "/decision", this::decide)
        .delete(ONE, this::withdraw);
  }

  private void ask(Exchange exchange) throws IOException, InterruptedException {
    Fields fields = exchange.fields();
    String sandbox = fields.string("sandbox_id");
    int wait = fields.wholeNumber("wait_seconds", 0, 0, MAX_WAIT_SECONDS);
    Approval asked =
        approvals.ask(
            exchange.caller(),
            new AskApproval(
                Kind.parse(fields.string("kind", Kind.EGRESS.wireName())),
                fields.requiredString("subject"),
                sandbox == null ? null : new SandboxId(sandbox),
                fields.string("namespace"),
                Scope.parse(fields.string("scope", Scope.SANDBOX.wireName())),
                fields.string("reason", ""),
                seconds(fields, "expires_seconds")));
    exchange.cancelWhenClientLeaves();
    Approval now = approvals.await(exchange.caller(), asked.id(), Duration.ofSeconds(wait));
    exchange.header(HeaderNames.LOCATION, ALL + "/" + now.id()).json(201, View.of(now));
  }

  private void list(Exchange exchange) {
    Query query = exchange.query();
    exchange.json(
        200,
        new Page(
            approvals
                .list(
                    exchange.caller(),
                    query.text("status").map(Status::parse).orElse(null),
                    (int) query.number("limit", PAGE, 1, Approvals.MAX_LISTED))
                .stream()
                .map(View::of)
                .toList()));
  }

  private void get(Exchange exchange) throws InterruptedException {
    long wait = exchange.query().number("wait_seconds", 0, 0, MAX_WAIT_SECONDS);
    exchange.cancelWhenClientLeaves();
    exchange.json(
        200, View.of(approvals.await(exchange.caller(), id(exchange), Duration.ofSeconds(wait))));
  }

  private void decide(Exchange exchange) throws IOException {
    Fields fields = exchange.fields();
    Boolean approve = fields.bool("approve");
    if (approve == null) {
      throw fields.missing("approve");
    }
    String scope = fields.string("scope");
    exchange.json(
        200,
        View.of(
            approvals.decide(
                exchange.caller(),
                id(exchange),
                approve,
                scope == null ? null : Scope.parse(scope),
                seconds(fields, "valid_seconds"),
                fields.string("note", ""))));
  }

  private void withdraw(Exchange exchange) {
    exchange.json(200, View.of(approvals.withdraw(exchange.caller(), id(exchange))));
  }

  private static ApprovalId id(Exchange exchange) {
    return new ApprovalId(exchange.parameter("approval"));
  }

  private static @Nullable Duration seconds(Fields fields, String name) {
    Long seconds = fields.wholeNumber(name, 1, MAX_SECONDS);
    return seconds == null ? null : Duration.ofSeconds(seconds);
  }

  record Page(List<View> approvals) {}

  record View(
      String id,
      String tenant,
      String namespace,
      @Nullable String sandboxId,
      String kind,
      String subject,
      String scope,
      String reason,
      String requester,
      String status,
      String createdAt,
      @Nullable String endsAt,
      @Nullable String decidedAt,
      @Nullable String decidedBy,
      @Nullable String note) {
    static View of(Approval approval) {
      SandboxId sandbox = approval.sandbox();
      Instant ends = approval.endsAt();
      Approval.Decision decision = approval.decision();
      return new View(
          approval.id().value(),
          approval.tenant(),
          approval.namespace(),
          sandbox == null ? null : sandbox.value(),
          approval.kind().wireName(),
          approval.subject(),
          approval.scope().wireName(),
          approval.reason(),
          approval.requester(),
          approval.status().wireName(),
          approval.createdAt().toString(),
          ends == null ? null : ends.toString(),
          decision == null ? null : decision.at().toString(),
          decision == null ? null : decision.by(),
          decision == null ? null : decision.note());
    }
  }
}
