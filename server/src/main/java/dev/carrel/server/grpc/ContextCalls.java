package dev.carrel.server.grpc;

import com.google.protobuf.ByteString;
import dev.carrel.control.Control;
import dev.carrel.control.context.CodeResult;
import dev.carrel.control.context.CodeStream;
import dev.carrel.control.context.Contexts;
import dev.carrel.control.context.CreateContext;
import dev.carrel.control.context.ExecuteCode;
import dev.carrel.protocols.carrel.CodeDone;
import dev.carrel.protocols.carrel.CodeError;
import dev.carrel.protocols.carrel.CodeEvent;
import dev.carrel.protocols.carrel.CodeOutput;
import dev.carrel.protocols.carrel.CodeStarted;
import dev.carrel.protocols.carrel.Context;
import dev.carrel.protocols.carrel.ContextName;
import dev.carrel.protocols.carrel.CreateContextRequest;
import dev.carrel.protocols.carrel.DeleteContextResponse;
import dev.carrel.protocols.carrel.InterruptContextResponse;
import dev.carrel.protocols.carrel.ListContextsRequest;
import dev.carrel.protocols.carrel.ListContextsResponse;
import dev.carrel.protocols.carrel.MimeBundle;
import dev.carrel.protocols.carrel.Representation;
import dev.carrel.protocols.carrel.RunCodeRequest;
import dev.carrel.spi.ContextId;
import dev.carrel.spi.DataSize;
import dev.carrel.spi.ExecEvent.Channel;
import dev.carrel.spi.Language;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** {@code carrel.v1.ContextService}: interpreters that keep their state, and code in them. */
final class ContextCalls {
  // Of a message: its own words take some room too.
  private static final int MARGIN = 1024;
  private static final int PIECE = 256 * 1024;
  private static final double MILLIS = 1e3;

  private final Contexts contexts;
  private final Sessions sessions;
  private final long maxMessage;

  ContextCalls(Control control, DataSize maxMessage) {
    this.contexts = control.contexts();
    this.sessions = new Sessions(control);
    this.maxMessage = maxMessage.bytes();
  }

  Service service() {
    return new Service(
        Context.getDescriptor().getFile().findServiceByName("ContextService"),
        List.of(
            Method.unary(
                "CreateContext",
                CreateContextRequest.getDefaultInstance(),
                Context.getDefaultInstance(),
                this::create),
            Method.unary(
                "ListContexts",
                ListContextsRequest.getDefaultInstance(),
                ListContextsResponse.getDefaultInstance(),
                this::list),
            Method.unary(
                "InterruptContext",
                ContextName.getDefaultInstance(),
                InterruptContextResponse.getDefaultInstance(),
                this::interrupt),
            Method.unary(
                "RestartContext",
                ContextName.getDefaultInstance(),
                Context.getDefaultInstance(),
                this::restart),
            Method.unary(
                "DeleteContext",
                ContextName.getDefaultInstance(),
                DeleteContextResponse.getDefaultInstance(),
                this::delete),
            Method.streaming(
                "RunCode",
                RunCodeRequest.getDefaultInstance(),
                CodeEvent.getDefaultInstance(),
                this::run)));
  }

  private Context create(Call<?, ?> call, CreateContextRequest request)
      throws InterruptedException {
    SandboxId sandbox = sessions.require(call.caller(), request.getSandbox());
    return view(
        contexts.create(
            call.caller(),
            sandbox,
            new CreateContext(
                Language.parse(request.getLanguage()),
                orNull(request.getCwd()),
                request.getEnvMap(),
                null,
                request.getSecretsList())));
  }

  private ListContextsResponse list(Call<?, ?> call, ListContextsRequest request) {
    var answer = ListContextsResponse.newBuilder();
    SandboxId sandbox = sessions.require(call.caller(), request.getSandbox());
    contexts.list(call.caller(), sandbox).forEach(found -> answer.addContexts(view(found)));
    return answer.build();
  }

  private InterruptContextResponse interrupt(Call<?, ?> call, ContextName name) {
    contexts.interrupt(call.caller(), sandbox(call, name), new ContextId(name.getContextId()));
    return InterruptContextResponse.getDefaultInstance();
  }

  private Context restart(Call<?, ?> call, ContextName name) throws InterruptedException {
    return view(
        contexts.restart(call.caller(), sandbox(call, name), new ContextId(name.getContextId())));
  }

  private DeleteContextResponse delete(Call<?, ?> call, ContextName name)
      throws InterruptedException {
    contexts.delete(call.caller(), sandbox(call, name), new ContextId(name.getContextId()));
    return DeleteContextResponse.getDefaultInstance();
  }

  private SandboxId sandbox(Call<?, ?> call, ContextName name) {
    return sessions.require(call.caller(), name.getSandbox());
  }

  private void run(Call<RunCodeRequest, CodeEvent> call, RunCodeRequest request)
      throws IOException, InterruptedException {
    SandboxId sandbox = sessions.require(call.caller(), request.getSandbox());
    String language = orNull(request.getLanguage());
    String context = orNull(request.getContextId());
    var code =
        new ExecuteCode(
            request.getCode(),
            language == null ? null : Language.parse(language),
            context == null ? null : new ContextId(context),
            timeout(request.getTimeoutSeconds()));
    try (CodeStream stream = contexts.start(call.caller(), sandbox, code)) {
      try {
        for (var event = stream.next(); event != null; event = stream.next()) {
          send(call, event);
        }
      } finally {
        call.settle();
      }
    }
  }

  private static @Nullable Duration timeout(double seconds) {
    if (seconds == 0) {
      return null;
    }
    if (!(seconds > 0)) {
      throw SandboxException.invalid("timeout_seconds", "must be positive");
    }
    return Duration.ofMillis((long) Math.ceil(seconds * MILLIS));
  }

  private void send(
      Call<RunCodeRequest, CodeEvent> call, dev.carrel.control.context.CodeEvent event)
      throws IOException, InterruptedException {
    var answer = CodeEvent.newBuilder();
    switch (event) {
      case dev.carrel.control.context.CodeEvent.Begun begun ->
          answer.setStarted(
              CodeStarted.newBuilder().setQueuedSeconds(begun.queued().toMillis() / MILLIS));
      case dev.carrel.control.context.CodeEvent.Output output -> {
        output(call, output.channel(), output.bytes());
        return;
      }
      case dev.carrel.control.context.CodeEvent.Result result ->
          answer.setResult(bundle(result.bundle()));
      case dev.carrel.control.context.CodeEvent.Display display ->
          answer.setDisplay(bundle(display.bundle()));
      case dev.carrel.control.context.CodeEvent.Failed failed ->
          answer.setError(
              CodeError.newBuilder()
                  .setType(failed.error().type())
                  .setMessage(failed.error().message())
                  .setTraceback(failed.error().traceback()));
      case dev.carrel.control.context.CodeEvent.Gap _ -> {
        return;
      }
      case dev.carrel.control.context.CodeEvent.Done done -> answer.setDone(done(done.result()));
    }
    call.send(answer.build());
  }

  private static void output(
      Call<RunCodeRequest, CodeEvent> call, Channel channel, ByteBuffer bytes)
      throws IOException, InterruptedException {
    CodeOutput.Stream stream =
        channel == Channel.STDOUT
            ? CodeOutput.Stream.STREAM_STDOUT
            : CodeOutput.Stream.STREAM_STDERR;
    while (bytes.hasRemaining()) {
      ByteString piece = ByteString.copyFrom(bytes, Math.min(PIECE, bytes.remaining()));
      call.send(
          CodeEvent.newBuilder()
              .setOutput(CodeOutput.newBuilder().setStream(stream).setData(piece))
              .build());
    }
  }

  /** All that one message holds, and the names of the rest. */
  private MimeBundle bundle(dev.carrel.control.context.MimeBundle bundle) {
    var answer = MimeBundle.newBuilder();
    long room = maxMessage - MARGIN;
    for (var item : bundle.items()) {
      room -= item.mime().length() + 2 * (long) Integer.BYTES;
      if (item.data().length > room) {
        answer.addOmitted(item.mime());
        continue;
      }
      room -= item.data().length;
      answer.addItems(
          Representation.newBuilder()
              .setMime(item.mime())
              .setData(ByteString.copyFrom(item.data())));
    }
    return answer.build();
  }

  private static CodeDone done(CodeResult result) {
    var done =
        CodeDone.newBuilder()
            .setSuccess(result.success())
            .setContextId(result.context().value())
            .setLanguage(result.language().wireName())
            .setExecutionCount(result.executionCount())
            .setCause(result.cause().name().toLowerCase(Locale.ROOT))
            .setTimedOut(result.timedOut())
            .setInterrupted(result.interrupted())
            .setTruncated(result.truncated())
            .setStateKept(result.state() == CodeResult.State.KEPT)
            .setDurationSeconds(result.duration().toMillis() / MILLIS);
    if (result.hint() != null) {
      done.setHint(result.hint());
    }
    return done.build();
  }

  private static Context view(dev.carrel.control.context.Context context) {
    return Context.newBuilder()
        .setId(context.id().value())
        .setLanguage(context.language().wireName())
        .setStatus(context.status().wireName())
        .setIsDefault(context.isDefault())
        .setExecutionCount(context.executionCount())
        .build();
  }

  private static @Nullable String orNull(String text) {
    return text.isEmpty() ? null : text;
  }
}
