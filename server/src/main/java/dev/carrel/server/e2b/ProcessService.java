package dev.carrel.server.e2b;

import com.google.protobuf.ByteString;
import com.google.protobuf.Message;
import dev.carrel.control.exec.Exec;
import dev.carrel.control.exec.ExecStart;
import dev.carrel.control.exec.ExecStream;
import dev.carrel.control.exec.Execs;
import dev.carrel.control.exec.SignalScope;
import dev.carrel.control.files.Files;
import dev.carrel.control.sandbox.Sandboxes;
import dev.carrel.protocols.process.CloseStdinRequest;
import dev.carrel.protocols.process.CloseStdinResponse;
import dev.carrel.protocols.process.ConnectRequest;
import dev.carrel.protocols.process.ConnectResponse;
import dev.carrel.protocols.process.ListRequest;
import dev.carrel.protocols.process.ListResponse;
import dev.carrel.protocols.process.PTY;
import dev.carrel.protocols.process.ProcessConfig;
import dev.carrel.protocols.process.ProcessEvent;
import dev.carrel.protocols.process.ProcessInfo;
import dev.carrel.protocols.process.ProcessInput;
import dev.carrel.protocols.process.ProcessSelector;
import dev.carrel.protocols.process.SendInputRequest;
import dev.carrel.protocols.process.SendInputResponse;
import dev.carrel.protocols.process.SendSignalRequest;
import dev.carrel.protocols.process.SendSignalResponse;
import dev.carrel.protocols.process.Signal;
import dev.carrel.protocols.process.StartRequest;
import dev.carrel.protocols.process.StartResponse;
import dev.carrel.protocols.process.StreamInputRequest;
import dev.carrel.protocols.process.StreamInputResponse;
import dev.carrel.protocols.process.UpdateRequest;
import dev.carrel.protocols.process.UpdateResponse;
import dev.carrel.server.e2b.Connect.Call;
import dev.carrel.server.http.Feeding;
import dev.carrel.server.http.Router;
import dev.carrel.spi.Command;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.ExecEvent;
import dev.carrel.spi.ExecId;
import dev.carrel.spi.SandboxException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** {@code process.Process}: commands and terminals. They outlive the stream that shows them. */
final class ProcessService {
  private static final String PATH = "/process.Process/";
  private static final int PIECE = 32 * 1024;

  private final Connect connect;
  private final Sandboxes sandboxes;
  private final Execs execs;
  private final Files files;
  private final Tags tags;

  ProcessService(Connect connect, Sandboxes sandboxes, Execs execs, Files files, Tags tags) {
    this.connect = connect;
    this.sandboxes = sandboxes;
    this.execs = execs;
    this.files = files;
    this.tags = tags;
  }

  void addTo(Router router) {
    router
        .open(
            "POST",
            PATH + "Start",
            connect.streaming(StartRequest.getDefaultInstance(), this::start))
        .open(
            "POST",
            PATH + "Connect",
            connect.streaming(ConnectRequest.getDefaultInstance(), this::follow))
        .open("POST", PATH + "List", connect.unary(ListRequest.getDefaultInstance(), this::list))
        .open(
            "POST",
            PATH + "SendInput",
            connect.unary(SendInputRequest.getDefaultInstance(), this::sendInput))
        .open(
            "POST",
            PATH + "StreamInput",
            connect.collecting(StreamInputRequest.getDefaultInstance(), this::streamInput))
        .open(
            "POST",
            PATH + "CloseStdin",
            connect.unary(CloseStdinRequest.getDefaultInstance(), this::closeStdin))
        .open(
            "POST",
            PATH + "SendSignal",
            connect.unary(SendSignalRequest.getDefaultInstance(), this::sendSignal))
        .open(
            "POST",
            PATH + "Update",
            connect.unary(UpdateRequest.getDefaultInstance(), this::update));
  }

  private void start(Call call, StartRequest request, Frames answers)
      throws IOException, InterruptedException {
    Command command = command(call, request);
    // In the background: a client that hangs up stops looking, and no more.
    try (ExecStream stream =
        execs.start(call.caller(), call.sandbox(), ExecStart.of(command).inBackground())) {
      if (request.hasTag()) {
        tags.put(call.sandbox(), request.getTag(), stream.id());
      }
      Function<ProcessEvent, Message> wrap =
          event -> StartResponse.newBuilder().setEvent(event).build();
      tell(call, stream.keepUp(), command.terminal() != null, answers, wrap);
    }
  }

  private void follow(Call call, ConnectRequest request, Frames answers)
      throws IOException, InterruptedException {
    Exec exec = require(call, request.getProcess(), false);
    // What was said before is not said again, and the end of one that is over is.
    try (ExecStream stream =
        execs.follow(call.caller(), call.sandbox(), exec.id(), exec.outputEnd())) {
      Function<ProcessEvent, Message> wrap =
          event -> ConnectResponse.newBuilder().setEvent(event).build();
      tell(call, stream, exec.terminal(), answers, wrap);
    }
  }

  private static void tell(
      Call call,
      ExecStream stream,
      boolean terminal,
      Frames answers,
      Function<ProcessEvent, Message> wrap)
      throws IOException, InterruptedException {
    boolean started = false;
    for (ExecEvent event = stream.next(call.quiet());
        event != null;
        event = stream.next(call.quiet())) {
      if (event.equals(ExecStream.NOTHING)) {
        answers.send(wrap.apply(keepAlive()));
        continue;
      }
      switch (event) {
        case ExecEvent.Started begun -> {
          started = true;
          answers.send(
              wrap.apply(
                  ProcessEvent.newBuilder()
                      .setStart(
                          ProcessEvent.StartEvent.newBuilder().setPid((int) begun.pid()).build())
                      .build()));
        }
        case ExecEvent.Output output -> data(output, terminal, answers, wrap);
        case ExecEvent.Gap _ -> {}
        case ExecEvent.Exited exited -> {
          if (exited.cause() == ExecEvent.Cause.SANDBOX_LOST) {
            // The client shall see a broken connection and look whether there still is a sandbox.
            throw call.exchange().hangUp();
          }
          answers.send(wrap.apply(end(exited, started)));
        }
      }
    }
  }

  private static void data(
      ExecEvent.Output output,
      boolean terminal,
      Frames answers,
      Function<ProcessEvent, Message> wrap)
      throws IOException {
    ByteBuffer rest = output.bytes();
    while (rest.hasRemaining()) {
      ByteString piece = ByteString.copyFrom(rest, Math.min(PIECE, rest.remaining()));
      var data = ProcessEvent.DataEvent.newBuilder();
      if (terminal) {
        data.setPty(piece);
      } else if (output.channel() == ExecEvent.Channel.STDOUT) {
        data.setStdout(piece);
      } else {
        data.setStderr(piece);
      }
      answers.send(wrap.apply(ProcessEvent.newBuilder().setData(data).build()));
    }
  }

  private static ProcessEvent end(ExecEvent.Exited exited, boolean started) {
    if (exited.cause() == ExecEvent.Cause.TIMED_OUT) {
      throw new Connect.Refusal("deadline_exceeded", "the command took longer than its timeout");
    }
    if (!started) {
      throw SandboxException.invalid(
          "process", exited.message() == null ? "cannot be started" : exited.message());
    }
    Integer signal = exited.signal();
    String status = signal == null ? "exit status " + exited.code() : "signal: " + name(signal);
    var end =
        ProcessEvent.EndEvent.newBuilder()
            .setExitCode(signal == null ? exited.code() : -1)
            .setExited(signal == null)
            .setStatus(status);
    if (signal != null || exited.code() != 0) {
      end.setError(status);
    }
    return ProcessEvent.newBuilder().setEnd(end).build();
  }

  private static String name(int signal) {
    return switch (signal) {
      case 1 -> "hangup";
      case 2 -> "interrupt";
      case 6 -> "aborted";
      case 9 -> "killed";
      case 11 -> "segmentation fault";
      case 13 -> "broken pipe";
      case 15 -> "terminated";
      default -> String.valueOf(signal);
    };
  }

  private static ProcessEvent keepAlive() {
    return ProcessEvent.newBuilder()
        .setKeepalive(ProcessEvent.KeepAlive.getDefaultInstance())
        .build();
  }

  private Command command(Call call, StartRequest request) {
    ProcessConfig config = request.getProcess();
    var words = new ArrayList<String>();
    words.add(config.getCmd());
    words.addAll(config.getArgsList());
    Command.TerminalSize size = request.hasPty() ? size(request.getPty()) : null;
    boolean stdin = size != null || !request.hasStdin() || request.getStdin();
    // The clients know of no longest time: one that is beyond it is as good as it.
    Duration timeout = call.timeout().map(time -> execs.atMost(time, true)).orElse(null);
    Home folder = Home.of(config.getCwd().isEmpty() ? Home.USER : config.getCwd());
    var variables = new HashMap<>(folder.variables(sandboxes.get(call.caller(), call.sandbox())));
    variables.putAll(config.getEnvsMap());
    return new Command(words, variables, cwd(call, config), size, timeout, stdin);
  }

  private @Nullable String cwd(Call call, ProcessConfig config) {
    if (!config.hasCwd() || config.getCwd().isEmpty()) {
      return null;
    }
    String folder = Home.of(config.getCwd()).inside();
    files.requireFolder(call.caller(), call.sandbox(), folder);
    return folder;
  }

  private static Command.TerminalSize size(PTY pty) {
    return new Command.TerminalSize(pty.getSize().getRows(), pty.getSize().getCols());
  }

  private Message list(Call call, ListRequest request) {
    var answer = ListResponse.newBuilder();
    execs.list(call.caller(), call.sandbox()).stream()
        .filter(Exec::running)
        .sorted(Comparator.comparing(Exec::startedAt))
        .forEach(exec -> answer.addProcesses(info(call, exec)));
    return answer.build();
  }

  private ProcessInfo info(Call call, Exec exec) {
    List<String> words = exec.arguments();
    var config =
        ProcessConfig.newBuilder()
            .setCmd(words.getFirst())
            .addAllArgs(words.subList(1, words.size()));
    if (exec.cwd() != null) {
      config.setCwd(exec.cwd());
    }
    var info = ProcessInfo.newBuilder().setConfig(config).setPid((int) exec.pid());
    tags.of(call.sandbox(), exec.id()).ifPresent(info::setTag);
    return info.build();
  }

  private Message sendInput(Call call, SendInputRequest request) {
    write(call, require(call, request.getProcess(), true), request.getInput());
    return SendInputResponse.getDefaultInstance();
  }

  private Message streamInput(Call call, Connect.Requests<StreamInputRequest> requests)
      throws IOException {
    Exec exec = null;
    for (StreamInputRequest next = requests.next(); next != null; next = requests.next()) {
      switch (next.getEventCase()) {
        case START -> exec = require(call, next.getStart().getProcess(), true);
        case DATA -> {
          if (exec == null) {
            throw SandboxException.invalid("event", "the first one must name the process");
          }
          Exec named = exec;
          ProcessInput input = next.getData().getInput();
          Feeding.run(() -> write(call, named, input));
        }
        case KEEPALIVE, EVENT_NOT_SET -> {}
      }
    }
    return StreamInputResponse.getDefaultInstance();
  }

  private void write(Call call, Exec exec, ProcessInput input) {
    boolean terminal = input.hasPty();
    if (terminal != exec.terminal()) {
      throw SandboxException.invalid(
          "input", exec.terminal() ? "the process has a terminal" : "the process has no terminal");
    }
    ByteString bytes = terminal ? input.getPty() : input.getStdin();
    execs.write(call.caller(), call.sandbox(), exec.id(), bytes.asReadOnlyByteBuffer(), false);
  }

  private Message closeStdin(Call call, CloseStdinRequest request) {
    Exec exec = require(call, request.getProcess(), true);
    if (exec.terminal()) {
      throw SandboxException.invalid("process", "has a terminal; send it a Ctrl+D instead");
    }
    execs.write(call.caller(), call.sandbox(), exec.id(), ByteBuffer.allocate(0), true);
    return CloseStdinResponse.getDefaultInstance();
  }

  private Message sendSignal(Call call, SendSignalRequest request) {
    if (request.getSignal() == Signal.SIGNAL_UNSPECIFIED
        || request.getSignal() == Signal.UNRECOGNIZED) {
      throw SandboxException.invalid("signal", "must be SIGTERM or SIGKILL");
    }
    Exec exec = require(call, request.getProcess(), true);
    boolean kill = request.getSignal() == Signal.SIGNAL_SIGKILL;
    execs.signal(
        call.caller(),
        call.sandbox(),
        exec.id(),
        request.getSignal().getNumber(),
        kill ? SignalScope.TREE : SignalScope.GROUP);
    return SendSignalResponse.getDefaultInstance();
  }

  private Message update(Call call, UpdateRequest request) {
    Exec exec = require(call, request.getProcess(), true);
    if (request.hasPty()) {
      execs.resize(call.caller(), call.sandbox(), exec.id(), size(request.getPty()));
    }
    return UpdateResponse.getDefaultInstance();
  }

  private Exec require(Call call, ProcessSelector selector, boolean running) {
    Optional<ExecId> tagged = tags.find(call.sandbox(), selector.getTag());
    return execs.list(call.caller(), call.sandbox()).stream()
        .filter(
            exec ->
                selector.hasTag()
                    ? tagged.filter(exec.id()::equals).isPresent()
                    : exec.pid() == Integer.toUnsignedLong(selector.getPid()))
        .filter(exec -> exec.running() || !running)
        .max(Comparator.comparing(Exec::running).thenComparing(Exec::startedAt))
        .orElseThrow(
            () -> new SandboxException(ErrorCode.EXEC_NOT_FOUND, "there is no such process"));
  }
}
