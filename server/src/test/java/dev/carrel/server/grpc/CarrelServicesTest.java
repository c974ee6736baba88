package dev.carrel.server.grpc;

import static dev.carrel.server.grpc.SandboxSessionsTest.refused;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.google.protobuf.ByteString;
import dev.carrel.control.exec.Exec;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.protocols.carrel.CodeDone;
import dev.carrel.protocols.carrel.CodeEvent;
import dev.carrel.protocols.carrel.Context;
import dev.carrel.protocols.carrel.ContextName;
import dev.carrel.protocols.carrel.CreateContextRequest;
import dev.carrel.protocols.carrel.DeleteContextResponse;
import dev.carrel.protocols.carrel.InterruptContextResponse;
import dev.carrel.protocols.carrel.ListContextsRequest;
import dev.carrel.protocols.carrel.ListContextsResponse;
import dev.carrel.protocols.carrel.OpenTerminal;
import dev.carrel.protocols.carrel.RunCodeRequest;
import dev.carrel.protocols.carrel.TerminalInput;
import dev.carrel.protocols.carrel.TerminalOutput;
import dev.carrel.protocols.carrel.TerminalSize;
import dev.carrel.server.Eventually;
import dev.carrel.server.LiveServer;
import dev.carrel.server.SharedServer;
import dev.carrel.spi.SandboxId;
import io.grpc.CallOptions;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.Status;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.StreamObserver;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(SharedServer.class)
class CarrelServicesTest {
  private static final String CONTEXTS = "carrel.v1.ContextService/";

  private final LiveServer server;
  private final GrpcClient client;
  private final SessionClient sessions;
  private String session = "";

  CarrelServicesTest(LiveServer server) {
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
  void variablesAreKeptFromCellToCell() {
    assertThat(last(run("python", "x = 41")).getDone().getSuccess()).isTrue();
    List<CodeEvent> events = run("python", "print('hello'); x + 1");
    assertThat(events.getFirst().hasStarted()).isTrue();
    assertThat(events)
        .anySatisfy(
            event -> assertThat(event.getOutput().getData().toStringUtf8()).contains("hello"))
        .filteredOn(CodeEvent::hasResult)
        .singleElement()
        .satisfies(
            event -> {
              assertThat(event.getResult().getItems(0).getMime()).isEqualTo("text/plain");
              assertThat(event.getResult().getItems(0).getData().toStringUtf8()).isEqualTo("42");
            });
    CodeDone done = last(events).getDone();
    assertThat(done.getExecutionCount()).isEqualTo(2);
    assertThat(done.getStateKept()).isTrue();
    assertThat(done.getCause()).isEqualTo("returned");
    assertThat(run("python", "1/0"))
        .anySatisfy(
            event -> {
              assertThat(event.getError().getType()).isEqualTo("ZeroDivisionError");
              assertThat(event.getError().getTraceback()).contains("1/0");
            });
  }

  @Test
  void contextsLiveByThemselves() {
    Context made =
        client.ask(
            CONTEXTS + "CreateContext",
            CreateContextRequest.newBuilder()
                .setSandbox(session)
                .setLanguage("bash")
                .putEnv("COLOUR", "blue")
                .build(),
            Context.getDefaultInstance());
    assertThat(made.getLanguage()).isEqualTo("bash");
    ContextName name =
        ContextName.newBuilder().setSandbox(session).setContextId(made.getId()).build();
    assertThat(output(run(in(made, "echo $COLOUR; kept=yes")))).isEqualTo("blue\n");

    Iterator<CodeEvent> sleeping = stream(in(made, "echo up; sleep 1000"));
    assertThat(sleeping.next().hasStarted()).isTrue();
    assertThat(sleeping.next().getOutput().getData().toStringUtf8()).isEqualTo("up\n");
    client.ask(CONTEXTS + "InterruptContext", name, InterruptContextResponse.getDefaultInstance());
    assertThat(last(all(sleeping)).getDone().getInterrupted()).isTrue();
    assertThat(output(run(in(made, "echo $kept")))).isEqualTo("yes\n");

    client.ask(CONTEXTS + "RestartContext", name, Context.getDefaultInstance());
    assertThat(output(run(in(made, "echo \"<$kept>\"")))).isEqualTo("<>\n");
    client.ask(CONTEXTS + "DeleteContext", name, DeleteContextResponse.getDefaultInstance());
    assertThat(
            client
                .ask(
                    CONTEXTS + "ListContexts",
                    ListContextsRequest.newBuilder().setSandbox(session).build(),
                    ListContextsResponse.getDefaultInstance())
                .getContextsList())
        .isEmpty();
    refused(Status.Code.NOT_FOUND, "", () -> run(in(made, "true")));
  }

  @Test
  void whatIsWrongIsAStatus() {
    refused(Status.Code.INVALID_ARGUMENT, "language", () -> run("cobol", "x"));
    refused(
        Status.Code.NOT_FOUND,
        "",
        () -> run(RunCodeRequest.newBuilder().setSandbox("nobody").setCode("1").build()));
    refused(
        Status.Code.INVALID_ARGUMENT,
        "timeout_seconds",
        () -> run(in("python", "1").toBuilder().setTimeoutSeconds(-1).build()));
    for (double seconds : List.of(7 * 86_400.0, 1e300, Double.POSITIVE_INFINITY)) {
      refused(
          Status.Code.INVALID_ARGUMENT,
          "at most 3600",
          () -> run(in("python", "1").toBuilder().setTimeoutSeconds(seconds).build()));
    }
    try (GrpcClient bob = GrpcClient.to(server, LiveServer.BOB)) {
      refused(
          Status.Code.NOT_FOUND,
          "",
          () ->
              bob.stream(CONTEXTS + "RunCode", in("python", "1"), CodeEvent.getDefaultInstance())
                  .next());
    }
  }

  @Test
  void aTerminalHasASizeThatChanges() throws Exception {
    var terminal = new Terminal();
    terminal.open(30, 100);
    terminal.type("stty size\n");
    terminal.awaitScreen("30 100");
    terminal.size(41, 121);
    terminal.type("stty size\n");
    terminal.awaitScreen("41 121");
    terminal.type("exit 7\n");
    assertThat(terminal.awaitEnd().getClosed().getExitCode()).isEqualTo(7);
  }

  @Test
  void whoOpensATerminalIsOnRecordAsAttachedToIt() throws Exception {
    String terminal = new Terminal().open(30, 100);
    String sandbox = sessions.get(session).getContainerId();
    JsonNode records =
        server.get("/api/v1/audit?sandbox=" + sandbox + "&action=terminal.attach").json();
    assertThat(records.get("records"))
        .singleElement()
        .satisfies(
            record -> {
              assertThat(record.get("subject").asText()).isEqualTo(terminal);
              assertThat(record.get("details").get("mode").asText()).isEqualTo("write");
            });
  }

  @Test
  void whoHangsUpEndsTheTerminal() throws Exception {
    var terminal = new Terminal();
    terminal.open(30, 100);
    terminal.type("echo ready; sleep 1000\n");
    terminal.awaitScreen("ready\r\n");
    assertThat(running()).isNotEmpty();
    terminal.input.onError(Status.CANCELLED.asException());
    Eventually.until("the terminal is gone", () -> running().isEmpty());
  }

  @Test
  void aTerminalRefusesWhatItDoesNotKnow() throws Exception {
    var first = new Terminal();
    first.type("x");
    assertThat(first.awaitFailure().getCode()).isEqualTo(Status.Code.INVALID_ARGUMENT);
    var second = new Terminal();
    second.open(30, 100);
    second.size(0, 0);
    assertThat(second.awaitFailure().getCode()).isEqualTo(Status.Code.INVALID_ARGUMENT);
    var third = new Terminal();
    third.ask("/bin/none", 30, 100);
    Status refused = third.awaitFailure();
    assertThat(refused.getCode()).isEqualTo(Status.Code.INVALID_ARGUMENT);
    assertThat(refused.getDescription()).contains("command");
    Eventually.until("the terminal is gone", () -> running().isEmpty());
  }

  private List<Exec> running() {
    var id = new SandboxId(sessions.get(session).getContainerId());
    return server.control().execs().list(Caller.user("acme", "ada"), id).stream()
        .filter(Exec::running)
        .toList();
  }

  private RunCodeRequest in(String language, String code) {
    return RunCodeRequest.newBuilder()
        .setSandbox(session)
        .setLanguage(language)
        .setCode(code)
        .build();
  }

  private RunCodeRequest in(Context context, String code) {
    return RunCodeRequest.newBuilder()
        .setSandbox(session)
        .setContextId(context.getId())
        .setCode(code)
        .build();
  }

  private List<CodeEvent> run(String language, String code) {
    return run(in(language, code));
  }

  private List<CodeEvent> run(RunCodeRequest request) {
    return all(stream(request));
  }

  private Iterator<CodeEvent> stream(RunCodeRequest request) {
    return client.stream(CONTEXTS + "RunCode", request, CodeEvent.getDefaultInstance());
  }

  private static List<CodeEvent> all(Iterator<CodeEvent> events) {
    var seen = new ArrayList<CodeEvent>();
    events.forEachRemaining(seen::add);
    return seen;
  }

  private static CodeEvent last(List<CodeEvent> events) {
    return events.getLast();
  }

  private static String output(List<CodeEvent> events) {
    var text = new StringBuilder();
    events.forEach(event -> text.append(event.getOutput().getData().toStringUtf8()));
    return text.toString();
  }

  /** One in a client. */
  private final class Terminal implements StreamObserver<TerminalOutput> {
    private final BlockingQueue<Object> heard = new LinkedBlockingQueue<>();
    private final StringBuilder screen = new StringBuilder();
    private final StreamObserver<TerminalInput> input =
        ClientCalls.asyncBidiStreamingCall(
            client
                .channel()
                .newCall(
                    GrpcClient.descriptor(
                        MethodType.BIDI_STREAMING,
                        "carrel.v1.TerminalService/Open",
                        TerminalInput.getDefaultInstance(),
                        TerminalOutput.getDefaultInstance()),
                    CallOptions.DEFAULT),
            this);

    /** Its id. */
    String open(int rows, int columns) throws InterruptedException {
      ask("/bin/sh", rows, columns);
      String id = ((TerminalOutput) next()).getOpened().getExecId();
      assertThat(id).startsWith("ex");
      return id;
    }

    void ask(String command, int rows, int columns) {
      input.onNext(
          TerminalInput.newBuilder()
              .setOpen(
                  OpenTerminal.newBuilder()
                      .setSandbox(session)
                      .addCommand(command)
                      .setSize(TerminalSize.newBuilder().setRows(rows).setColumns(columns)))
              .build());
    }

    void type(String keys) {
      input.onNext(TerminalInput.newBuilder().setKeys(ByteString.copyFromUtf8(keys)).build());
    }

    void size(int rows, int columns) {
      input.onNext(
          TerminalInput.newBuilder()
              .setSize(TerminalSize.newBuilder().setRows(rows).setColumns(columns))
              .build());
    }

    void awaitScreen(String words) throws InterruptedException {
      while (screen.indexOf(words) < 0) {
        screen.append(((TerminalOutput) next()).getScreen().toStringUtf8());
      }
    }

    TerminalOutput awaitEnd() throws InterruptedException {
      while (true) {
        var output = (TerminalOutput) next();
        if (output.hasClosed()) {
          return output;
        }
      }
    }

    Status awaitFailure() throws InterruptedException {
      Object next = next();
      while (!(next instanceof Throwable)) {
        next = next();
      }
      return Status.fromThrowable((Throwable) next);
    }

    private Object next() throws InterruptedException {
      Object next = heard.poll(60, TimeUnit.SECONDS);
      assertThat(next).as("after " + screen).isNotNull();
      return next;
    }

    @Override
    public void onNext(TerminalOutput output) {
      heard.add(output);
    }

    @Override
    public void onError(Throwable e) {
      heard.add(e);
    }

    @Override
    public void onCompleted() {
      heard.add("completed");
    }
  }
}
