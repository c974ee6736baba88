package dev.carrel.server.rest;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.carrel.server.Eventually;
import dev.carrel.server.LiveServer;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.WebSocket;
import java.net.http.WebSocketHandshakeException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Somebody attached to a terminal. */
final class TerminalClient implements WebSocket.Listener, AutoCloseable {
  static final String CONTROL = "carrel.terminal.control.v1";
  private static final ObjectMapper MAPPER = new ObjectMapper();

  private final ByteArrayOutputStream screen = new ByteArrayOutputStream();
  private final List<String> texts = new CopyOnWriteArrayList<>();
  private final StringBuilder begun = new StringBuilder();
  private volatile int closeCode;
  private volatile String closeReason = "";
  private volatile boolean over;
  private @Nullable WebSocket socket;

  private TerminalClient() {}

  /** With Ada's token in the header. */
  static TerminalClient attach(LiveServer server, String path) {
    return attach(
        server, path, builder -> builder.header("Authorization", "Bearer " + LiveServer.ADA));
  }

  static TerminalClient control(LiveServer server, String path) {
    return attach(
        server,
        path,
        builder ->
            builder.header("Authorization", "Bearer " + LiveServer.ADA).subprotocols(CONTROL));
  }

  static TerminalClient attach(LiveServer server, String path, Consumer<WebSocket.Builder> more) {
    var client = new TerminalClient();
    WebSocket.Builder builder = HttpClient.newHttpClient().newWebSocketBuilder();
    more.accept(builder);
    client.socket = builder.buildAsync(uri(server, path), client).join();
    return client;
  }

  /** The status that an attempt is refused with. */
  static int refused(LiveServer server, String path, Consumer<WebSocket.Builder> more) {
    try (TerminalClient client = attach(server, path, more)) {
      throw new AssertionError("it was let in: " + client.socket);
    } catch (CompletionException e) {
      if (e.getCause() instanceof WebSocketHandshakeException refusal) {
        return refusal.getResponse().statusCode();
      }
      throw e;
    }
  }

  private static URI uri(LiveServer server, String path) {
    return URI.create(server.uri(path).toString().replaceFirst("http", "ws"));
  }

  WebSocket socket() {
    return Objects.requireNonNull(socket);
  }

  TerminalClient type(String keys) {
    socket().sendText(keys, true).join();
    return this;
  }

  TerminalClient typeBytes(String keys) {
    socket().sendBinary(ByteBuffer.wrap(keys.getBytes(StandardCharsets.UTF_8)), true).join();
    return this;
  }

  synchronized String screen() {
    return screen.toString(StandardCharsets.UTF_8);
  }

  synchronized int screenBytes() {
    return screen.size();
  }

  TerminalClient sees(String text) {
    Eventually.until("the screen shows " + text, () -> over || screen().contains(text));
    assertThat(screen()).as("until " + closeCode + " " + closeReason).contains(text);
    return this;
  }

  /** The control message of this type. */
  JsonNode told(String type) {
    Eventually.until("told of " + type, () -> texts.stream().anyMatch(text -> is(text, type)));
    return texts.stream()
        .filter(text -> is(text, type))
        .map(TerminalClient::parse)
        .findFirst()
        .orElseThrow();
  }

  private static boolean is(String text, String type) {
    return parse(text).get("type").asText().equals(type);
  }

  private static JsonNode parse(String text) {
    try {
      return MAPPER.readTree(text);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  List<String> texts() {
    return texts;
  }

  /** How it was closed, as {@code 1000 reason}. */
  String closed() {
    Eventually.until("closed", () -> over);
    return closeCode + " " + closeReason;
  }

  @Override
  public void onOpen(WebSocket webSocket) {
    webSocket.request(Long.MAX_VALUE);
  }

  @Override
  public synchronized @Nullable CompletionStage<?> onBinary(
      WebSocket webSocket, ByteBuffer data, boolean last) {
    byte[] bytes = new byte[data.remaining()];
    data.get(bytes);
    screen.writeBytes(bytes);
    return null;
  }

  @Override
  public @Nullable CompletionStage<?> onText(WebSocket webSocket, CharSequence data, boolean last) {
    begun.append(data);
    if (last) {
      texts.add(begun.toString());
      begun.setLength(0);
    }
    return null;
  }

  @Override
  public @Nullable CompletionStage<?> onClose(WebSocket webSocket, int code, String reason) {
    closeCode = code;
    closeReason = reason;
    over = true;
    return null;
  }

  @Override
  public void onError(WebSocket webSocket, Throwable error) {
    closeReason = error.toString();
    over = true;
  }

  /** Goes away without a word. */
  @Override
  public void close() {
    WebSocket open = socket;
    if (open != null) {
      open.abort();
    }
  }
}
