package dev.carrel.server.grpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.carrel.control.exec.Exec;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.protocols.sandbox.CreateSessionRequest;
import dev.carrel.protocols.sandbox.ExecRequest;
import dev.carrel.protocols.sandbox.ExecResponse;
import dev.carrel.protocols.sandbox.ExecStreamResponse;
import dev.carrel.protocols.sandbox.SessionInfo;
import dev.carrel.server.Eventually;
import dev.carrel.server.LiveServer;
import dev.carrel.server.SharedServer;
import dev.carrel.spi.SandboxId;
import io.grpc.Context;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(SharedServer.class)
class SandboxSessionsTest {
  private static final Caller ADA = Caller.user("acme", "ada");

  private final LiveServer server;
  private final GrpcClient client;
  private final SessionClient sessions;
  private String session = "";

  SandboxSessionsTest(LiveServer server) {
    this.server = server;
    this.client = GrpcClient.to(server, LiveServer.ADA);
    this.sessions = new SessionClient(client);
  }

  @BeforeEach
  void create() {
    session = sessions.create();
  }

  @AfterEach
  void destroy() {
    sessions.destroy(session);
    client.close();
  }

  @Test
  void aSessionIsASandboxUnderItsOwnName() {
    assertThat(UUID.fromString(session).toString()).isEqualTo(session);
    SessionInfo info = sessions.get(session);
    assertThat(info.getSessionId()).isEqualTo(session);
    assertThat(info.getStatus()).isEqualTo("running");
    assertThat(info.getCreatedAt()).isGreaterThan(1.7e9);
    assertThat(info.getLastActivity()).isGreaterThanOrEqualTo(info.getCreatedAt());
    assertThat(info.hasTenantId()).isFalse();
    assertThat(info.getAllowedHostsList()).contains("github.com", "raw.githubusercontent.com");
    assertThat(sessions.list()).contains(session);
    // By the sandbox's id too: what was made over REST can be used here.
    assertThat(sessions.get(info.getContainerId()).getSessionId()).isEqualTo(session);
    assertThat(server.get("/api/v1/sandboxes/" + info.getContainerId()).json().get("on_idle"))
        .asString()
        .contains("destroy");
  }

  @Test
  void theSameIdIsTheSameSession() {
    var request =
        CreateSessionRequest.newBuilder()
            .setSessionId("mine")
            .addAllowedHosts("Example.com")
            .addAllowedHosts("*.example.org")
            .build();
    SessionInfo first = sessions.create(request);
    try {
      assertThat(first.getSessionId()).isEqualTo("mine");
      assertThat(first.getAllowedHostsList()).containsExactly("example.com", "*.example.org");
      assertThat(sessions.create(request).getContainerId()).isEqualTo(first.getContainerId());
    } finally {
      assertThat(sessions.destroy("mine")).isTrue();
    }
    assertThat(sessions.destroy("mine")).isFalse();
    refused(Status.Code.NOT_FOUND, "Session not found", () -> sessions.get("mine"));
  }

  @Test
  void whatNoSessionCanBeIsAStatus() {
    var star = CreateSessionRequest.newBuilder().addAllowedHosts("*").build();
    refused(Status.Code.INVALID_ARGUMENT, "allowed_hosts", () -> sessions.create(star));
    refused(Status.Code.NOT_FOUND, "Session not found", () -> sessions.get(""));
  }

  @Test
  void whatACommandSaidIsKeptWhenItsSandboxIsLost() throws Exception {
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      Future<ExecResponse> answer =
          threads.submit(() -> sessions.exec(session, "echo before; touch began; sleep 60"));
      Eventually.until(
          "it has begun", () -> sessions.exec(session, "test -e began").getExitCode() == 0);
      assertThat(sessions.destroy(session)).isTrue();
      assertThat(answer.get(30, TimeUnit.SECONDS).getStdout()).isEqualTo("before\n");
    }
  }

  @Test
  void aCommandGivesItsCodeAndBothStreams() {
    ExecResponse answer = sessions.exec(session, "echo out; echo err >&2; exit 42");
    assertThat(answer.getExitCode()).isEqualTo(42);
    assertThat(answer.getStdout()).isEqualTo("out\n");
    assertThat(answer.getStderr()).isEqualTo("err\n");
    assertThat(answer.getTimedOut()).isFalse();

    var inside =
        ExecRequest.newBuilder().setSessionId(session).setCommand("pwd").setWorkdir("/usr/../tmp");
    assertThat(sessions.exec(inside.build()).getStdout()).isEqualTo("/tmp\n");
  }

  @Test
  void aTimeoutKeepsWhatWasSaid() {
    ExecResponse answer =
        sessions.exec(
            ExecRequest.newBuilder()
                .setSessionId(session)
                .setCommand("echo begun; sleep 1000")
                .setTimeout(1)
                .build());
    assertThat(answer.getExitCode()).isEqualTo(-1);
    assertThat(answer.getTimedOut()).isTrue();
    assertThat(answer.getStdout()).isEqualTo("begun\n");
    assertThat(answer.getStderr()).isEqualTo("Command timed out");
  }

  @Test
  void whatIsWrongWithASessionIsToldInTheAnswer() {
    ExecResponse none = sessions.exec("nobody", "true");
    assertThat(none.getExitCode()).isEqualTo(-1);
    assertThat(none.getStderr()).isEqualTo("Session not found");
    assertThat(sessions.pip("nobody", "six").getStderr()).isEqualTo("Session not found");
    assertThat(sessions.read("nobody", "x").getError()).isEqualTo("Session not found");
    assertThat(sessions.write("nobody", "x", "", "w").getError()).isEqualTo("Session not found");
    assertThat(all(sessions.stream("nobody", "true"))).containsExactly("error Session not found");
    assertThat(sessions.exec(session, "").getStderr()).contains("command");
    assertThat(
            sessions
                .exec(
                    ExecRequest.newBuilder()
                        .setSessionId(session)
                        .setCommand("true")
                        .setTimeout(-1)
                        .build())
                .getExitCode())
        .isEqualTo(-1);
  }

  @Test
  void outputComesWhileTheCommandRuns() {
    sessions.exec(session, "mkfifo gate");
    Iterator<ExecStreamResponse> events =
        sessions.stream(session, "echo one; cat gate; echo bad >&2; exit 3");
    assertThat(events.next().getData()).isEqualTo("one\n");
    sessions.exec(session, "echo two > gate");
    assertThat(all(events)).containsExactlyInAnyOrder("stdout two\n", "stderr bad\n", "exit 3");
  }

  @Test
  void aCharacterIsNeverCut() {
    sessions.exec(session, "mkfifo first second");
    Iterator<ExecStreamResponse> events =
        sessions.stream(
            session, "printf 'x\\303'; cat first; printf '\\274'; cat second; printf '\\377'");
    assertThat(events.next().getData()).isEqualTo("x");
    sessions.exec(session, ": > first");
    assertThat(events.next().getData()).isEqualTo("ü");
    sessions.exec(session, ": > second");
    assertThat(all(events)).containsExactly("stdout \ufffd", "exit 0");
  }

  @Test
  void muchOutputArrivesWhole() {
    long size = 0;
    Iterator<ExecStreamResponse> events =
        sessions.stream(session, "head -c 20000000 /dev/zero | tr '\\0' x");
    while (events.hasNext()) {
      size += events.next().getData().length();
    }
    assertThat(size).isEqualTo(20_000_000);
  }

  @Test
  void whoHangsUpKillsTheCommand() {
    Context.CancellableContext context = Context.current().withCancellation();
    Iterator<ExecStreamResponse> events =
        in(context, () -> sessions.stream(session, "echo up; sleep 1000"));
    assertThat(in(context, events::next).getData()).isEqualTo("up\n");
    assertThat(running()).isNotEmpty();
    context.cancel(null);
    Eventually.until("the command is gone", () -> running().isEmpty());
  }

  @Test
  void aDeadlineKillsTheCommand() {
    // Its own time is longer than the test waits.
    ExecRequest patient =
        ExecRequest.newBuilder()
            .setSessionId(session)
            .setCommand("sleep 1000")
            .setTimeout(600)
            .build();
    try (GrpcClient hurried = GrpcClient.to(server, LiveServer.ADA)) {
      var soon = new SessionClient(hurried.within(Duration.ofSeconds(2)));
      refused(Status.Code.DEADLINE_EXCEEDED, "", () -> soon.exec(patient));
    }
    Eventually.until("the command is gone", () -> running().isEmpty());
  }

  @Test
  void filesAreTextBelowTheWorkspace() {
    assertThat(sessions.write(session, "a/b.txt", "grün\n", "").getSuccess()).isTrue();
    assertThat(sessions.write(session, "/workspace/a/b.txt", "more", "a").getSuccess()).isTrue();
    assertThat(sessions.read(session, "a/../a/b.txt").getContent()).isEqualTo("grün\nmore");
    assertThat(sessions.write(session, "/mnt/user-data/outputs/x", "1", "w").getSuccess()).isTrue();
    assertThat(sessions.exec(session, "cat outputs/x; printf '\\377' > raw").getStdout())
        .isEqualTo("1");
    assertThat(sessions.read(session, "raw").getContent()).isEqualTo("\ufffd");

    assertThat(sessions.read(session, "none").getError()).isEqualTo("File not found");
    assertThat(sessions.read(session, "none").getSuccess()).isFalse();
    for (String path : List.of("/etc/passwd", "../../etc/passwd", "/workspaceX/y", "/")) {
      assertThat(sessions.read(session, path).getError()).as(path).isEqualTo("Path not allowed");
      assertThat(sessions.write(session, path, "", "w").getError())
          .as(path)
          .isEqualTo("Path not allowed");
    }
    assertThat(sessions.write(session, "x", "", "r+").getError()).contains("mode");
  }

  @Test
  void aFileThatNoMessageHoldsIsRefusedInTheAnswer() {
    sessions.exec(session, "head -c 5000000 /dev/zero > big; head -c 3000000 /dev/urandom > raw");
    assertThat(sessions.read(session, "big").getError()).contains("5000000", "at most 4194304");
    // What is no UTF-8 becomes larger.
    assertThat(sessions.read(session, "raw").getError()).contains("at most 4194304");
  }

  @Test
  void whatIsNoPackageIsNotInstalled() {
    for (String bad : List.of("six; id", "--index-url=http://x", "git+https://x/y", "a b")) {
      ExecResponse answer = sessions.pip(session, "six", bad);
      assertThat(answer.getExitCode()).isEqualTo(-1);
      assertThat(answer.getStderr()).isEqualTo("Invalid package specifier: " + bad);
    }
  }

  private List<Exec> running() {
    var id = new SandboxId(sessions.get(session).getContainerId());
    return server.control().execs().list(ADA, id).stream().filter(Exec::running).toList();
  }

  private static List<String> all(Iterator<ExecStreamResponse> events) {
    var seen = new ArrayList<String>();
    events.forEachRemaining(
        event ->
            seen.add(
                event.getType()
                    + " "
                    + (event.hasExitCode() ? event.getExitCode() : event.getData())));
    return seen;
  }

  private static <T> T in(Context context, Callable<T> call) {
    try {
      return context.call(call);
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  static void refused(Status.Code code, String words, ThrowingCallable call) {
    assertThatExceptionOfType(StatusRuntimeException.class)
        .isThrownBy(call)
        .satisfies(e -> assertThat(e.getStatus().getCode()).isEqualTo(code))
        .withMessageContaining(words);
  }
}
