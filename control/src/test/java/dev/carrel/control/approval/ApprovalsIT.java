package dev.carrel.control.approval;

import static dev.carrel.control.ControlFixture.ALICE;
import static dev.carrel.control.ControlFixture.MALLORY;
import static dev.carrel.control.ControlFixture.eventually;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.carrel.control.ControlFixture;
import dev.carrel.control.approval.Approval.Kind;
import dev.carrel.control.approval.Approval.Scope;
import dev.carrel.control.approval.Approval.Status;
import dev.carrel.control.audit.AuditQuery;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.control.sandbox.SandboxStatus;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(120)
final class ApprovalsIT {
  private static final Caller ADMIN = new Caller("office", "ada", Caller.Role.ADMIN);
  private static final Duration LONG = Duration.ofMinutes(1);

  private ControlFixture fixture;

  @BeforeEach
  void open() throws IOException {
    fixture = new ControlFixture();
    approvals().commands((caller, subject) -> subject);
  }

  @AfterEach
  void close() throws IOException {
    fixture.close();
  }

  private Approvals approvals() {
    return fixture.control().approvals();
  }

  private Approval ask(Sandbox sandbox, Kind kind, String subject, Scope scope) {
    return ask(sandbox, kind, subject, scope, null);
  }

  private Approval ask(
      Sandbox sandbox, Kind kind, String subject, Scope scope, @Nullable Duration patience) {
    return approvals()
        .ask(ALICE, new AskApproval(kind, subject, sandbox.id(), null, scope, "why", patience));
  }

  private Approval approve(Approval asked) {
    return approvals().decide(ADMIN, asked.id(), true, null, null, "fine");
  }

  private boolean used(Kind kind, String subject, Sandbox sandbox) {
    var party =
        new Approval.Party(sandbox.tenant(), ALICE.principal(), sandbox.namespace(), sandbox.id());
    return approvals().use(kind, subject::equals, party).isPresent();
  }

  private static void refused(ErrorCode code, ThrowingCallable work) {
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(work)
        .extracting(SandboxException::code)
        .isEqualTo(code);
  }

  @Test
  void whoWaitsHearsTheDecisionAndOnlyAnAdministratorMakesIt() throws Exception {
    Sandbox sandbox = fixture.sandbox();
    Approval asked = ask(sandbox, Kind.EGRESS, "example.net", Scope.SANDBOX);
    assertThat(asked.status()).isEqualTo(Status.PENDING);
    assertThat(ask(sandbox, Kind.EGRESS, "Example.NET.", Scope.SANDBOX)).isEqualTo(asked);
    assertThat(approvals().rules(sandbox)).isEmpty();

    refused(
        ErrorCode.FORBIDDEN,
        () -> approvals().decide(ALICE, asked.id(), true, null, null, "for myself"));
    refused(ErrorCode.APPROVAL_NOT_FOUND, () -> approvals().get(MALLORY, asked.id()));
    refused(ErrorCode.APPROVAL_NOT_FOUND, () -> approvals().withdraw(MALLORY, asked.id()));
    refused(
        ErrorCode.SANDBOX_NOT_FOUND,
        () ->
            approvals()
                .ask(
                    MALLORY,
                    new AskApproval(
                        Kind.EGRESS, "x.net", sandbox.id(), null, Scope.SANDBOX, "", null)));

    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      Future<Approval> waiting = threads.submit(() -> approvals().await(ALICE, asked.id(), LONG));
      approve(asked);
      assertThat(waiting.get().status()).isEqualTo(Status.APPROVED);
    }
    assertThat(approvals().rules(sandbox)).hasToString("[example.net]");
    refused(ErrorCode.WRONG_STATE, () -> approve(asked));
    assertThat(
            fixture.control().audit().page(ALICE, AuditQuery.newest(20)).stream()
                .map(record -> record.entry().action()))
        .contains("approval.ask", "approval.approve");
  }

  @Test
  void whatWaitsAndWhatWasGrantedOutliveTheServer() throws Exception {
    Sandbox sandbox = fixture.sandbox();
    Approval waiting = ask(sandbox, Kind.EGRESS, "waits.net", Scope.NAMESPACE);
    Approval granted = approve(ask(sandbox, Kind.EGRESS, "granted.net", Scope.NAMESPACE));

    fixture.restart();

    assertThat(approvals().get(ALICE, waiting.id()).status()).isEqualTo(Status.PENDING);
    assertThat(approvals().list(ALICE, null, 10))
        .extracting(Approval::id)
        .containsExactlyInAnyOrder(waiting.id(), granted.id());
    assertThat(approvals().list(MALLORY, null, 10)).isEmpty();
    approve(waiting);
    Sandbox later = fixture.sandbox();
    assertThat(approvals().rules(later)).as("of the same namespace").hasSize(2);
    approvals().withdraw(ALICE, granted.id());
    assertThat(approvals().rules(later)).hasToString("[waits.net]");
  }

  @Test
  void aDeletedSandboxTakesItsQuestionsAndGrantsAlong() throws Exception {
    Sandbox sandbox = fixture.sandbox();
    Approval waiting = ask(sandbox, Kind.EGRESS, "waits.net", Scope.SANDBOX);
    Approval granted = approve(ask(sandbox, Kind.HOST_COMMAND, "date", Scope.SANDBOX));
    Approval general = ask(sandbox, Kind.EGRESS, "general.net", Scope.NAMESPACE);
    Approval others = ask(fixture.sandbox(), Kind.EGRESS, "waits.net", Scope.SANDBOX);

    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      Future<Approval> answer = threads.submit(() -> approvals().await(ALICE, waiting.id(), LONG));
      fixture.control().sandboxes().delete(ALICE, sandbox.id());
      assertThat(answer.get().status()).isEqualTo(Status.WITHDRAWN);
    }
    assertThat(approvals().get(ALICE, granted.id()).status()).isEqualTo(Status.WITHDRAWN);
    assertThat(approvals().list(ALICE, Status.PENDING, 10))
        .as("what goes beyond the sandbox")
        .extracting(Approval::id)
        .containsExactlyInAnyOrder(general.id(), others.id());
    refused(ErrorCode.WRONG_STATE, () -> approve(waiting));
  }

  @Test
  void aRequestAndAGrantEndByThemselves() {
    Sandbox sandbox = fixture.sandbox();
    Approval asked = ask(sandbox, Kind.EGRESS, "late.net", Scope.SANDBOX, Duration.ofMillis(300));
    eventually(() -> approvals().get(ALICE, asked.id()).status() == Status.EXPIRED);
    refused(ErrorCode.WRONG_STATE, () -> approve(asked));

    Approval again = ask(sandbox, Kind.EGRESS, "late.net", Scope.SANDBOX);
    approvals().decide(ADMIN, again.id(), true, null, Duration.ofMillis(300), "");
    eventually(() -> approvals().get(ALICE, again.id()).status() == Status.EXPIRED);
    assertThat(approvals().rules(sandbox)).isEmpty();
  }

  @Test
  void whatIsGrantedOnceIsUsedByOne() throws Exception {
    Sandbox sandbox = fixture.sandbox();
    approve(ask(sandbox, Kind.HOST_COMMAND, "uptime", Scope.ONCE));
    assertThat(used(Kind.HOST_COMMAND, "reboot", sandbox)).isFalse();
    assertThat(used(Kind.SECRET, "uptime", sandbox)).isFalse();
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      Callable<Boolean> use = () -> used(Kind.HOST_COMMAND, "uptime", sandbox);
      long used = 0;
      for (Future<Boolean> one :
          threads.invokeAll(IntStream.range(0, 20).mapToObj(_ -> use).toList())) {
        used += one.get() ? 1 : 0;
      }
      assertThat(used).isEqualTo(1);
    }
    approve(ask(sandbox, Kind.HOST_COMMAND, "date", Scope.SANDBOX));
    assertThat(used(Kind.HOST_COMMAND, "date", sandbox)).isTrue();
    assertThat(used(Kind.HOST_COMMAND, "date", sandbox)).isTrue();
    assertThat(used(Kind.HOST_COMMAND, "date", fixture.sandbox())).isFalse();
  }

  @Test
  void whatIsForWhoeverAskedIsAskedByEachForThemselves() {
    var question = new AskApproval(Kind.HOST_COMMAND, "uptime", null, null, Scope.ONCE, "", null);
    Caller colleague = Caller.user(ALICE.tenant(), "colleague");
    Approval first = approvals().ask(ALICE, question);
    Approval second = approvals().ask(colleague, question);
    assertThat(approvals().ask(ALICE, question)).isEqualTo(first);
    approve(second);
    var party =
        new Approval.Party(second.tenant(), colleague.principal(), second.namespace(), null);
    assertThat(approvals().use(Kind.HOST_COMMAND, "uptime"::equals, party)).isPresent();
    assertThat(approvals().get(ALICE, first.id()).status()).isEqualTo(Status.PENDING);
  }

  @Test
  void whatAPersonReadsHasNoControlCharacters() {
    Sandbox sandbox = fixture.sandbox();
    for (Kind kind : Kind.values()) {
      refused(ErrorCode.INVALID_INPUT, () -> ask(sandbox, kind, "key\u001b[2K", Scope.SANDBOX));
    }
  }

  @Test
  void aSandboxWithAQuestionIsNotIdle() throws Exception {
    fixture.close();
    fixture =
        new ControlFixture(
            settings ->
                settings.withSandboxes(
                    settings
                        .sandboxes()
                        .with(
                            draft -> {
                              draft.idleTimeout = Duration.ofSeconds(3);
                              draft.watchInterval = Duration.ofMillis(50);
                            })));
    Sandbox sandbox = fixture.sandbox();
    Approval asked = ask(sandbox, Kind.EGRESS, "example.net", Scope.SANDBOX);
    Sandbox other = fixture.sandbox();

    eventually(() -> status(other) == SandboxStatus.STOPPED);
    assertThat(status(sandbox)).isEqualTo(SandboxStatus.RUNNING);
    approvals().withdraw(ALICE, asked.id());
    eventually(() -> status(sandbox) == SandboxStatus.STOPPED);
  }

  private SandboxStatus status(Sandbox sandbox) {
    return fixture.control().sandboxes().get(ALICE, sandbox.id()).status();
  }

  @Test
  void whatCannotBeAskedIsRefusedWithItsField() {
    Sandbox sandbox = fixture.sandbox();
    refused(
        ErrorCode.INVALID_INPUT,
        () -> ask(sandbox, Kind.EGRESS, "http://example.net", Scope.SANDBOX));
    refused(ErrorCode.INVALID_INPUT, () -> ask(sandbox, Kind.EGRESS, "*", Scope.SANDBOX));
    refused(
        ErrorCode.INVALID_INPUT,
        () ->
            approvals()
                .ask(
                    ALICE,
                    new AskApproval(Kind.EGRESS, "a.net", null, null, Scope.ONCE, "", null)));
    refused(
        ErrorCode.INVALID_INPUT,
        () ->
            approvals()
                .ask(
                    ALICE,
                    new AskApproval(
                        Kind.EGRESS, "a.net", sandbox.id(), null, Scope.ONCE, "why\033[2K", null)));
    approvals()
        .ask(
            ALICE,
            new AskApproval(
                Kind.EGRESS, "host0.net", sandbox.id(), null, Scope.SANDBOX, "two\r\nlines", null));
    for (int i = 1; i < 100; i++) {
      ask(sandbox, Kind.EGRESS, "host" + i + ".net", Scope.SANDBOX);
    }
    refused(ErrorCode.LIMIT_REACHED, () -> ask(sandbox, Kind.EGRESS, "more.net", Scope.SANDBOX));
  }
}
