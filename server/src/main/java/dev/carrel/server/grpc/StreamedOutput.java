package dev.carrel.server.grpc;

import dev.carrel.control.exec.ExecStream;
import dev.carrel.protocols.sandbox.ExecStreamRequest;
import dev.carrel.protocols.sandbox.ExecStreamResponse;
import dev.carrel.server.http.Utf8Text;
import dev.carrel.spi.ExecEvent;
import dev.carrel.spi.ExecEvent.Channel;
import java.io.IOException;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;

/** A command's events to one client, as they come: output as text, then how it ended. */
final class StreamedOutput {
  private final Call<ExecStreamRequest, ExecStreamResponse> call;
  private final Map<Channel, Utf8Text> texts = new EnumMap<>(Channel.class);

  StreamedOutput(Call<ExecStreamRequest, ExecStreamResponse> call) {
    this.call = call;
  }

  void follow(ExecStream stream) throws IOException, InterruptedException {
    for (ExecEvent event = stream.next(); event != null; event = stream.next()) {
      switch (event) {
        case ExecEvent.Started _, ExecEvent.Gap _ -> {}
        case ExecEvent.Output output -> {
          Utf8Text text = texts.computeIfAbsent(output.channel(), _ -> new Utf8Text());
          say(output.channel(), text.decode(output.bytes()));
        }
        case ExecEvent.Exited exited -> {
          for (var entry : texts.entrySet()) {
            say(entry.getKey(), entry.getValue().end());
          }
          call.send(end(exited));
        }
      }
    }
  }

  private void say(Channel channel, String text) throws IOException, InterruptedException {
    if (!text.isEmpty()) {
      call.send(event(channel.name().toLowerCase(Locale.ROOT), text).build());
    }
  }

  private static ExecStreamResponse end(ExecEvent.Exited exited) {
    return switch (exited.cause()) {
      case TIMED_OUT -> event("error", Sessions.TIMED_OUT).build();
      case SANDBOX_LOST -> event("error", Sessions.LOST).build();
      case NOT_STARTED -> event("error", String.valueOf(exited.message())).build();
      case RETURNED, KILLED, SIGNALLED, CRASHED, OUT_OF_MEMORY, PIDS_LIMIT ->
          event("exit", "").setExitCode(exited.code()).build();
    };
  }

  static ExecStreamResponse.Builder event(String type, String data) {
    return ExecStreamResponse.newBuilder().setType(type).setData(data);
  }
}
