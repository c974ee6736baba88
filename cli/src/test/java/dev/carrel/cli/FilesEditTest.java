package dev.carrel.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A text on its way from a sandbox into an editor and back: it is never lost. */
@Timeout(60)
class FilesEditTest {
  private static final Pattern KEPT = Pattern.compile("your text is kept in (\\S+)");

  @TempDir private Path folder;
  private HttpServer server;

  // The one file of the sandbox. A write changes its tag.
  private volatile String content = "one\n";
  private volatile String type = "file";
  private final AtomicInteger version = new AtomicInteger(1);
  private volatile String found = "";
  private volatile String written = "";
  private volatile boolean full;
  private volatile boolean changedOnceRead;

  @BeforeEach
  void serve() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext("/", this::answer);
    server.start();
  }

  @AfterEach
  void stop() {
    server.stop(0);
  }

  private record Outcome(int code, String out, String err) {}

  @Test
  void whatWasChangedIsWrittenBack() throws IOException {
    Outcome outcome =
        edit(
            "echo two >> \"$1\"; stat -c %a \"$1\" > seen; echo \"$1\" >> seen; mkdir \"$1.d\"; cp \"$1\" \"$1.d/a~\"");

    assertThat(outcome).isEqualTo(new Outcome(0, "", "d/a.py is written\n"));
    assertThat(content).isEqualTo("one\ntwo\n");
    assertThat(written).isEqualTo("mode=0750 \"v1\"");
    List<String> seen = Files.readAllLines(folder.resolve("seen"));
    assertThat(seen.getFirst()).isEqualTo("600");
    Path draft = Path.of(seen.getLast());
    assertThat(draft.getFileName()).hasToString("a.py");
    assertThat(draft.getParent()).doesNotExist();
    assertThat(edit("echo 3 >> \"$1\"", "--json").out()).contains("\"changed\" : true");
  }

  @Test
  void whatWasNotChangedIsNotWritten() {
    assertThat(edit("true")).isEqualTo(new Outcome(0, "", "d/a.py is as it was\n"));
    assertThat(written).isEmpty();
  }

  @Test
  void aChangeInTheSandboxIsNotOverwritten() throws IOException {
    changedOnceRead = true;

    Outcome outcome = edit("echo two >> \"$1\"");

    assertThat(outcome.code()).isEqualTo(125);
    assertThat(outcome.err())
        .contains("changed in the sandbox meanwhile; nothing was written", "carrel files get sb1");
    assertThat(content).isEqualTo("another\n");
    assertKept(outcome, "one\ntwo\n");
  }

  @Test
  void textThatCannotBeWrittenStays() throws IOException {
    full = true;

    Outcome outcome = edit("echo two >> \"$1\"");

    assertThat(outcome.code()).isEqualTo(125);
    assertThat(outcome.err()).contains("no space left");
    assertKept(outcome, "one\ntwo\n");
  }

  @Test
  void anEditorThatFailsHasWrittenNothing() throws IOException {
    Outcome changed = edit("echo two >> \"$1\"; exit 3");
    assertThat(changed.code()).isEqualTo(125);
    assertThat(changed.err()).contains("ended with exit code 3; nothing was written");
    assertKept(changed, "one\ntwo\n");

    assertThat(edit("exit 127").err()).contains("set VISUAL or EDITOR").doesNotContain("kept");
    assertThat(written).isEmpty();
  }

  @Test
  void anEditorThatRemovesTheTextHasWrittenNothing() {
    Outcome removed = edit("rm \"$1\"");
    assertThat(removed.code()).isEqualTo(125);
    assertThat(removed.err()).contains("has removed the text").doesNotContain("kept");
    assertThat(written).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "******",
        "***REDACTED***",
        "***REDACTED****",
        "***REDACTED***********************"
      })
  void noMaskIsWrittenInPlaceOfItsSecret(String mask) {
    content = "key=" + mask + "\n";
    assertThat(edit("echo two >> \"$1\"").err()).contains("seems to hold a secret");

    content = "# *** " + mask + "\n";
    found = "{\"path\":\"d/a.py\",\"line\":1,\"text\":\"# *** ***REDACTED***\"}";
    assertThat(edit("echo two >> \"$1\"").err()).contains("seems to hold a secret");

    found = "{\"path\":\"d/a.py\",\"line\":1,\"text\":\"# *** aa\",\"cut\":true}";
    assertThat(edit("echo two >> \"$1\"").err()).contains("seems to hold a secret");
    assertThat(written).isEmpty();
  }

  @Test
  void aSecretIsNotOverwrittenByItsMask() {
    content = "a\nkey=**********\n";

    Outcome masked = edit("echo two >> \"$1\"");
    assertThat(masked.code()).isEqualTo(125);
    assertThat(masked.err()).contains("seems to hold a secret", "carrel exec -t sb1 -- vi d/a.py");
    assertThat(written).isEmpty();

    found = "{\"path\":\"d/a.py\",\"line\":2,\"text\":\"key=**********\"}";
    assertThat(edit("echo two >> \"$1\"").code()).isZero();
    assertThat(content).endsWith("two\n");
  }

  @Test
  void aDirectoryIsNotEdited() {
    type = "dir";

    assertThat(edit("true").code()).isEqualTo(2);
  }

  private static void assertKept(Outcome outcome, String text) throws IOException {
    Matcher kept = KEPT.matcher(outcome.err());
    assertThat(kept.find()).as(outcome.err()).isTrue();
    Path draft = Path.of(kept.group(1));
    assertThat(draft).hasContent(text);
    Files.delete(draft);
    Files.delete(draft.getParent());
  }

  private Outcome edit(String script, String... options) {
    var out = new ByteArrayOutputStream();
    var err = new ByteArrayOutputStream();
    URI address = URI.create("http://127.0.0.1:" + server.getAddress().getPort());
    var arguments = new ArrayList<>(List.of("files", "edit", "sb1", "d/a.py"));
    arguments.addAll(List.of(options));
    try {
      Files.writeString(folder.resolve("editor"), "cd " + folder + "\n" + script + "\n");
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    int code =
        new Cli(
                new StubHost(Optional.of(new Endpoint(address, "token")), folder),
                new ByteArrayInputStream(new byte[0]),
                new PrintStream(out, true, StandardCharsets.UTF_8),
                new PrintStream(err, true, StandardCharsets.UTF_8))
            .run(arguments);
    return new Outcome(
        code, out.toString(StandardCharsets.UTF_8), err.toString(StandardCharsets.UTF_8));
  }

  private void answer(HttpExchange exchange) throws IOException {
    String body = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
    String path = exchange.getRequestURI().getPath().replace("/api/v1/sandboxes/sb1", "");
    switch (exchange.getRequestMethod() + " " + path) {
      case "GET " -> send(exchange, 200, "{\"id\":\"sb1\"}");
      case "POST /fs/stat" ->
          send(
              exchange,
              200,
              """
              {"name":"a.py","path":"d/a.py","type":"%s","size":4,"mode":"4750",\
              "modified_at":"2026-01-01T00:00:00Z","target":null,"etag":"\\"v%d\\""}"""
                  .formatted(type, version.get()));
      case "POST /fs/grep" ->
          send(exchange, 200, "{\"matches\":[%s],\"truncated\":false}".formatted(found));
      case "GET /files/d/a.py" -> {
        send(exchange, 200, content);
        if (changedOnceRead) {
          content = "another\n";
          version.incrementAndGet();
        }
      }
      case "PUT /files/d/a.py" -> put(exchange, body);
      default -> send(exchange, 500, "");
    }
  }

  private void put(HttpExchange exchange, String body) throws IOException {
    String tag = exchange.getRequestHeaders().getFirst("If-Match");
    if (full) {
      send(exchange, 507, "{\"code\":\"no_space\",\"detail\":\"no space left\",\"status\":507}");
    } else if (!tag.equals("\"v" + version + "\"")) {
      send(
          exchange,
          412,
          "{\"code\":\"precondition_failed\",\"detail\":\"the file has changed\",\"status\":412}");
    } else {
      written = exchange.getRequestURI().getQuery() + " " + tag;
      content = body;
      version.incrementAndGet();
      send(exchange, 200, "{}");
    }
  }

  private static void send(HttpExchange exchange, int status, String answer) throws IOException {
    byte[] bytes = answer.getBytes(StandardCharsets.UTF_8);
    exchange
        .getResponseHeaders()
        .set("Content-Type", status == 200 ? "application/json" : "application/problem+json");
    exchange.sendResponseHeaders(status, bytes.length);
    exchange.getResponseBody().write(bytes);
    exchange.close();
  }
}
