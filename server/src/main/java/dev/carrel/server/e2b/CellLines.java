package dev.carrel.server.e2b;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import com.fasterxml.jackson.databind.annotation.JsonNaming;
import dev.carrel.control.context.CodeError;
import dev.carrel.control.context.CodeEvent;
import dev.carrel.control.context.CodeResult;
import dev.carrel.control.context.CodeStream;
import dev.carrel.control.context.MimeBundle;
import dev.carrel.server.http.Utf8Text;
import dev.carrel.spi.ExecEvent.Channel;
import java.io.IOException;
import java.io.OutputStream;
import java.time.Duration;
import java.time.Instant;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.Map;

/** A cell's events as lines of JSON, each sent at once. For one thread. */
final class CellLines {
  private static final Duration KEEP_ALIVE = Duration.ofSeconds(5);
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final Map<String, String> NAMES =
      Map.ofEntries(
          Map.entry("text/plain", "text"),
          Map.entry("text/html", "html"),
          Map.entry("text/markdown", "markdown"),
          Map.entry("image/svg+xml", "svg"),
          Map.entry("image/png", "png"),
          Map.entry("image/jpeg", "jpeg"),
          Map.entry("application/pdf", "pdf"),
          Map.entry("text/latex", "latex"),
          Map.entry("application/json", "json"),
          Map.entry("application/javascript", "javascript"),
          Map.entry("application/vnd.carrel.data+json", "data"),
          Map.entry("application/vnd.carrel.chart+json", "chart"));

  private final OutputStream out;
  private final Map<Channel, Utf8Text> texts = new EnumMap<>(Channel.class);

  CellLines(OutputStream out) {
    this.out = out;
  }

  void follow(CodeStream stream) throws IOException, InterruptedException {
    for (CodeEvent event = stream.next(KEEP_ALIVE);
        event != null;
        event = stream.next(KEEP_ALIVE)) {
      switch (event) {
        case CodeEvent.Begun _, CodeEvent.Gap _ -> {}
        case CodeEvent.Output output -> output(output);
        case CodeEvent.Result(MimeBundle bundle) -> line(result(bundle, true));
        case CodeEvent.Display(MimeBundle bundle) -> line(result(bundle, false));
        case CodeEvent.Failed(CodeError error) ->
            line(new Failed("error", error.type(), error.message(), error.traceback()));
        case CodeEvent.Done(CodeResult result) -> {
          rest();
          line(new Count("number_of_executions", result.executionCount()));
          line(new Bare("end_of_execution"));
        }
      }
    }
    out.close();
  }

  private void output(CodeEvent.Output output) throws IOException {
    if (!output.bytes().hasRemaining()) {
      line(new Bare("keepalive"));
      return;
    }
    text(
        output.channel(),
        texts.computeIfAbsent(output.channel(), _ -> new Utf8Text()).decode(output.bytes()));
  }

  private void rest() throws IOException {
    for (var entry : texts.entrySet()) {
      text(entry.getKey(), entry.getValue().end());
    }
  }

  private void text(Channel channel, String piece) throws IOException {
    if (!piece.isEmpty()) {
      String type = channel == Channel.STDOUT ? "stdout" : "stderr";
      line(new Text(type, piece, Instant.now().toString()));
    }
  }

  private static Map<String, Object> result(MimeBundle bundle, boolean main) {
    var line = new LinkedHashMap<String, Object>();
    line.put("type", "result");
    line.put("is_main_result", main);
    var others = new LinkedHashMap<String, Object>();
    for (MimeBundle.Item item : bundle.items()) {
      String name = NAMES.get(item.mime());
      boolean json = item.mime().endsWith("json");
      Object value = json ? tree(item.text()) : item.text();
      if (name == null) {
        others.put(item.mime(), value);
      } else {
        line.put(name, name.equals("text") ? unquoted(item.text()) : value);
      }
    }
    if (!others.isEmpty()) {
      line.put("extra", others);
    }
    return line;
  }

  private static Object tree(String text) {
    try {
      JsonNode tree = MAPPER.readTree(text);
      return tree == null ? text : tree;
    } catch (JsonProcessingException e) {
      // It says it is JSON and is not: then it is shown as what it is.
      return text;
    }
  }

  /** A string is shown as itself, not as its literal. */
  private static String unquoted(String text) {
    boolean quoted =
        text.length() >= 2
            && (text.charAt(0) == '\'' || text.charAt(0) == '"')
            && text.charAt(text.length() - 1) == text.charAt(0);
    return quoted ? text.substring(1, text.length() - 1) : text;
  }

  private void line(Object value) throws IOException {
    Wire.write(out, value);
    out.write('\n');
    out.flush();
  }

  private record Bare(String type) {}

  private record Text(String type, String text, String timestamp) {}

  private record Failed(String type, String name, String value, String traceback) {}

  @JsonNaming(PropertyNamingStrategies.SnakeCaseStrategy.class)
  private record Count(String type, long executionCount) {}
}
