package dev.carrel.cli;

import dev.carrel.sdk.ExecEvent;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A command's output and end as one JSON object. Keeps the beginning of each stream. */
final class CollectedExec implements LiveExec.Sink {
  private static final int KEPT = 8 * 1024 * 1024;

  private final ByteArrayOutputStream stdout = new ByteArrayOutputStream();
  private final ByteArrayOutputStream stderr = new ByteArrayOutputStream();
  private boolean truncated;
  private ExecEvent.@Nullable Exited end;

  @Override
  public void output(ExecEvent.Output output) {
    ByteArrayOutputStream stream =
        switch (output.channel()) {
          case STDOUT -> stdout;
          case STDERR -> stderr;
        };
    int room = Math.min(KEPT - stream.size(), output.bytes().length);
    stream.write(output.bytes(), 0, room);
    truncated |= room < output.bytes().length;
  }

  @Override
  public void exited(ExecEvent.Exited exited) {
    end = exited;
  }

  /** As with what is too long to be kept here, the answer itself says so. */
  @Override
  public boolean missing(long bytes) {
    truncated = true;
    return false;
  }

  /** Ordered as a reader wants it. */
  Map<String, @Nullable Object> json() {
    ExecEvent.Exited exited = end;
    if (exited == null) {
      throw new IllegalStateException("the command has not ended");
    }
    var json = new LinkedHashMap<String, @Nullable Object>();
    json.put("id", exited.id());
    json.put("exit_code", exited.exitCode());
    json.put("signal", exited.signal());
    json.put("cause", exited.cause());
    json.put("timed_out", exited.timedOut());
    json.put("stdout", stdout.toString(StandardCharsets.UTF_8));
    json.put("stderr", stderr.toString(StandardCharsets.UTF_8));
    json.put("truncated", truncated);
    json.put("queued_ms", exited.queuedMs());
    json.put("duration_ms", exited.durationMs());
    json.put("cpu_ms", exited.cpuMs());
    json.put("max_rss_bytes", exited.maxRssBytes());
    json.put("files_changed", exited.filesChanged());
    json.put("artifacts", exited.artifacts());
    json.put("artifacts_skipped", exited.artifactsSkipped());
    json.put("message", exited.message());
    json.put("hint", exited.hint());
    return json;
  }
}
