package dev.carrel.server.grpc;

import com.google.protobuf.Message;
import dev.carrel.control.Control;
import dev.carrel.control.exec.ExecResult;
import dev.carrel.control.exec.ExecStart;
import dev.carrel.control.exec.ExecStream;
import dev.carrel.control.packages.InstallPackages;
import dev.carrel.control.packages.PackageClient;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.control.sandbox.SandboxQuery;
import dev.carrel.protocols.sandbox.CreateSessionRequest;
import dev.carrel.protocols.sandbox.CreateSessionResponse;
import dev.carrel.protocols.sandbox.DestroySessionRequest;
import dev.carrel.protocols.sandbox.DestroySessionResponse;
import dev.carrel.protocols.sandbox.ExecRequest;
import dev.carrel.protocols.sandbox.ExecResponse;
import dev.carrel.protocols.sandbox.ExecStreamRequest;
import dev.carrel.protocols.sandbox.ExecStreamResponse;
import dev.carrel.protocols.sandbox.GetSessionRequest;
import dev.carrel.protocols.sandbox.GetSessionResponse;
import dev.carrel.protocols.sandbox.ListSessionsRequest;
import dev.carrel.protocols.sandbox.ListSessionsResponse;
import dev.carrel.protocols.sandbox.PipInstallRequest;
import dev.carrel.protocols.sandbox.ReadFileRequest;
import dev.carrel.protocols.sandbox.ReadFileResponse;
import dev.carrel.protocols.sandbox.WriteFileRequest;
import dev.carrel.protocols.sandbox.WriteFileResponse;
import dev.carrel.spi.Command;
import dev.carrel.spi.DataSize;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.io.IOException;
import java.time.Duration;
import java.util.List;

/**
 * {@code sandbox.v1}: sessions, commands and files. What goes wrong with a session or in it is told
 * in the answer, as exit code −1 or {@code success: false}; what is wrong with the token or the
 * server is a status. A session is a sandbox whose session key is the session's id.
 */
final class SandboxSessions {
  private static final Duration USUAL_TIMEOUT = Duration.ofSeconds(30);
  private static final int FAILED = -1;

  private final Control control;
  private final Sessions sessions;
  private final SessionFiles files;
  private final long maxMessage;

  SandboxSessions(Control control, DataSize maxMessage) {
    this.control = control;
    this.sessions = new Sessions(control);
    this.files = new SessionFiles(control.files(), maxMessage);
    this.maxMessage = maxMessage.bytes();
  }

  Service service() {
    return new Service(
        CreateSessionRequest.getDescriptor().getFile().findServiceByName("SandboxService"),
        List.of(
            Method.unary(
                "CreateSession",
                CreateSessionRequest.getDefaultInstance(),
                CreateSessionResponse.getDefaultInstance(),
                this::create),
            Method.unary(
                "DestroySession",
                DestroySessionRequest.getDefaultInstance(),
                DestroySessionResponse.getDefaultInstance(),
                this::destroy),
            Method.unary(
                "GetSession",
                GetSessionRequest.getDefaultInstance(),
                GetSessionResponse.getDefaultInstance(),
                this::get),
            Method.unary(
                "ListSessions",
                ListSessionsRequest.getDefaultInstance(),
                ListSessionsResponse.getDefaultInstance(),
                this::list),
            Method.unary(
                "Exec",
                ExecRequest.getDefaultInstance(),
                ExecResponse.getDefaultInstance(),
                this::exec),
            Method.streaming(
                "ExecStream",
                ExecStreamRequest.getDefaultInstance(),
                ExecStreamResponse.getDefaultInstance(),
                this::execStream),
            Method.unary(
                "WriteFile",
                WriteFileRequest.getDefaultInstance(),
                WriteFileResponse.getDefaultInstance(),
                this::write),
            Method.unary(
                "ReadFile",
                ReadFileRequest.getDefaultInstance(),
                ReadFileResponse.getDefaultInstance(),
                this::read),
            Method.unary(
                "PipInstall",
                PipInstallRequest.getDefaultInstance(),
                ExecResponse.getDefaultInstance(),
                this::pipInstall)));
  }

  private CreateSessionResponse create(
      Call<CreateSessionRequest, CreateSessionResponse> call, CreateSessionRequest request)
      throws InterruptedException {
    Sandbox made =
        control
            .creates()
            .create(call.caller(), sessions.creation(request), null, call::settle)
            .sandbox();
    return CreateSessionResponse.newBuilder().setSession(sessions.info(made)).build();
  }

  private DestroySessionResponse destroy(Call<?, ?> call, DestroySessionRequest request) {
    boolean found = true;
    try {
      SandboxId id = sessions.require(call.caller(), request.getSessionId());
      call.settle();
      control.sandboxes().delete(call.caller(), id);
    } catch (SandboxException e) {
      if (!isAbsent(e.code())) {
        throw e;
      }
      found = false;
    }
    return DestroySessionResponse.newBuilder().setSuccess(found).build();
  }

  private GetSessionResponse get(Call<?, ?> call, GetSessionRequest request) {
    try {
      SandboxId id = sessions.require(call.caller(), request.getSessionId());
      Sandbox sandbox = control.sandboxes().get(call.caller(), id);
      return GetSessionResponse.newBuilder().setSession(sessions.info(sandbox)).build();
    } catch (SandboxException e) {
      throw isAbsent(e.code()) ? new SandboxException(e.code(), Sessions.NOT_FOUND) : e;
    }
  }

  private ListSessionsResponse list(Call<?, ?> call, ListSessionsRequest request) {
    var answer = ListSessionsResponse.newBuilder();
    long size = 0;
    for (int page = 1; ; page++) {
      List<Sandbox> items =
          control.sandboxes().list(call.caller(), Sessions.query(call.caller(), page)).items();
      for (Sandbox sandbox : items) {
        var info = sessions.info(sandbox);
        answer.addSessions(info);
        size += info.getSerializedSize();
      }
      if (size > maxMessage) {
        throw new SandboxException(
                ErrorCode.TOO_LARGE, "the list of sessions does not fit into one message")
            .withHint("destroy those that are not needed, or list them page by page over REST");
      }
      if (items.size() < SandboxQuery.MAX_PAGE_SIZE) {
        return answer.build();
      }
    }
  }

  private ExecResponse exec(Call<?, ?> call, ExecRequest request) throws InterruptedException {
    try {
      Duration timeout =
          request.getTimeout() == 0
              ? control.execs().atMost(USUAL_TIMEOUT, false)
              : Duration.ofSeconds(request.getTimeout());
      ExecStart start = line(request.getCommand(), request.getWorkdir(), timeout);
      SandboxId id = sessions.require(call.caller(), request.getSessionId());
      return answer(run(call, id, start));
    } catch (SandboxException e) {
      return failed(told(e));
    }
  }

  private ExecResult run(Call<?, ?> call, SandboxId id, ExecStart start)
      throws InterruptedException {
    try (Begun begun = begin(call, id, start)) {
      return begun.stream.result();
    }
  }

  private Begun begin(Call<?, ?> call, SandboxId id, ExecStart start) throws InterruptedException {
    return new Begun(call, control.execs().start(call.caller(), id, start));
  }

  private static ExecStart line(String line, String folder, Duration timeout) {
    if (line.isEmpty()) {
      throw SandboxException.invalid("command", "must not be empty");
    }
    String cwd = folder.isEmpty() ? null : SessionFiles.absolute(folder);
    return ExecStart.shell(
        shell -> Command.of(shell, "-c", line).withCwd(cwd).withTimeout(timeout));
  }

  private static ExecResponse answer(ExecResult result) {
    String err = result.stderr().text();
    return switch (result.cause()) {
      case TIMED_OUT ->
          failed(join(err, Sessions.TIMED_OUT)).toBuilder()
              .setStdout(result.stdout().text())
              .setTimedOut(true)
              .build();
      case SANDBOX_LOST ->
          failed(join(err, Sessions.LOST)).toBuilder().setStdout(result.stdout().text()).build();
      case NOT_STARTED ->
          response(result).setStderr(join(err, String.valueOf(result.message()))).build();
      case RETURNED, KILLED, SIGNALLED, CRASHED, OUT_OF_MEMORY, PIDS_LIMIT ->
          response(result).setStderr(err).build();
    };
  }

  private static ExecResponse.Builder response(ExecResult result) {
    return ExecResponse.newBuilder()
        .setExitCode(result.exitCode())
        .setStdout(result.stdout().text());
  }

  private void execStream(
      Call<ExecStreamRequest, ExecStreamResponse> call, ExecStreamRequest request)
      throws IOException, InterruptedException {
    try {
      // As long as any command may take: the client has a deadline, or hangs up.
      ExecStart start =
          line(request.getCommand(), request.getWorkdir(), control.execs().maxTimeout());
      SandboxId id = sessions.require(call.caller(), request.getSessionId());
      try (Begun begun = begin(call, id, start)) {
        new StreamedOutput(call).follow(begun.stream);
      }
    } catch (SandboxException e) {
      call.send(StreamedOutput.event("error", told(e)).build());
    }
  }

  private WriteFileResponse write(Call<?, ?> call, WriteFileRequest request) throws IOException {
    try {
      SandboxId id = sessions.require(call.caller(), request.getSessionId());
      files.write(call.caller(), id, request);
      return WriteFileResponse.newBuilder().setSuccess(true).build();
    } catch (SandboxException e) {
      return WriteFileResponse.newBuilder().setSuccess(false).setError(told(e)).build();
    }
  }

  private ReadFileResponse read(Call<?, ?> call, ReadFileRequest request) throws IOException {
    try {
      SandboxId id = sessions.require(call.caller(), request.getSessionId());
      String content = files.read(call.caller(), id, request.getPath());
      return ReadFileResponse.newBuilder().setSuccess(true).setContent(content).build();
    } catch (SandboxException e) {
      return ReadFileResponse.newBuilder().setSuccess(false).setError(told(e)).build();
    }
  }

  private ExecResponse pipInstall(Call<?, ?> call, PipInstallRequest request)
      throws InterruptedException {
    for (String wanted : request.getPackagesList()) {
      if (!PackageClient.PIP.accepts(wanted)) {
        return failed("Invalid package specifier: " + wanted);
      }
    }
    try {
      SandboxId id = sessions.require(call.caller(), request.getSessionId());
      var packages = new InstallPackages(PackageClient.PIP, request.getPackagesList(), true);
      return answer(control.packages().install(call.caller(), id, packages).exec());
    } catch (SandboxException e) {
      return failed(
          e.code() == ErrorCode.FORBIDDEN
              ? "pip install requires hosts that are not allowed: " + Failures.text(e)
              : told(e));
    }
  }

  /** What an answer says of a failure; one that is not for answers goes on as it is. */
  private static String told(SandboxException e) {
    boolean fits =
        switch (e.code().kind()) {
          case IDENTITY, LIMIT, UNAVAILABLE, BUG -> false;
          case CALLER,
              PERMISSION,
              ABSENT,
              CONFLICT,
              PRECONDITION,
              RANGE,
              SIZE,
              STORAGE,
              GONE,
              APP,
              ENGINE ->
              true;
        };
    if (!fits) {
      throw e;
    }
    return switch (e.code()) {
      case SANDBOX_NOT_FOUND, SANDBOX_GONE -> Sessions.NOT_FOUND;
      case FILE_NOT_FOUND -> "File not found";
      default -> Failures.text(e);
    };
  }

  private static boolean isAbsent(ErrorCode code) {
    return code == ErrorCode.SANDBOX_NOT_FOUND || code == ErrorCode.SANDBOX_GONE;
  }

  private static ExecResponse failed(String why) {
    return ExecResponse.newBuilder().setExitCode(FAILED).setStderr(why).build();
  }

  private static String join(String output, String more) {
    return output.isEmpty() || output.endsWith("\n") ? output + more : output + "\n" + more;
  }

  /** A command under way. */
  record Begun(Call<? extends Message, ? extends Message> call, ExecStream stream)
      implements AutoCloseable {
    @Override
    public void close() {
      call.settle();
      stream.close();
    }
  }
}
