package dev.carrel.server.app;

import dev.carrel.server.http.Exchange;
import dev.carrel.server.http.HttpProblem;
import io.helidon.http.HeaderName;
import io.helidon.http.HeaderNames;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;

/**
 * A request as an app gets to see it: written anew from what was understood of it, so that there is
 * one reading of it, and without anything that is between the client and this server.
 */
final class RequestHead {
  private static final HeaderName EXTENSIONS = HeaderNames.create("Sec-WebSocket-Extensions");
  private static final Set<String> NO_METHODS = Set.of("CONNECT", "TRACE");

  /** Between two neighbours, or told by us. */
  private static final Set<String> DROPPED =
      Set.of(
          "connection",
          "keep-alive",
          "proxy-connection",
          "te",
          "trailer",
          "transfer-encoding",
          "upgrade",
          "expect",
          "host",
          "content-length",
          "cookie",
          "origin",
          "referer",
          "forwarded",
          "x-real-ip",
          "x-original-url",
          "x-rewrite-url",
          "http2-settings");

  private final Exchange exchange;
  private final Target target;
  private final Door door;
  private final StringBuilder head = new StringBuilder(1024);

  RequestHead(Exchange exchange, Target target, Door door) {
    this.exchange = exchange;
    this.target = target;
    this.door = door;
  }

  /** Throws for what must not be passed on at all. */
  static void check(Exchange exchange) {
    if (NO_METHODS.contains(exchange.method())
        || !exchange.method().chars().allMatch(AnswerHead::isTokenChar)) {
      throw HttpProblem.unreadable("method", "is not one that is passed on");
    }
    List<String> encodings = exchange.headers(HeaderNames.TRANSFER_ENCODING);
    List<String> lengths = exchange.headers(HeaderNames.CONTENT_LENGTH);
    boolean chunked = encodings.size() == 1 && encodings.getFirst().equalsIgnoreCase("chunked");
    if ((!encodings.isEmpty() && (!chunked || !lengths.isEmpty())) || lengths.size() > 1) {
      throw HttpProblem.unreadable("body", "how long it is can be read in two ways");
    }
  }

  /**
   * The head, to its empty line.
   *
   * @param upgrade whether the client wants a WebSocket
   * @param plain whether the answer must be readable for us
   */
  byte[] bytes(boolean upgrade, boolean plain) {
    String path = target.pathAndQuery();
    if (!path.chars().allMatch(c -> c > 0x20 && c < 0x7f)) {
      throw HttpProblem.unreadable("path", "holds characters that must be encoded");
    }
    head.append(exchange.method()).append(' ').append(path).append(" HTTP/1.1\r\n");
    put("Host", target.host());
    put("Connection", upgrade ? "Upgrade" : "close");
    if (upgrade) {
      put("Upgrade", "websocket");
    }
    forwarded();
    Set<String> ofConnection = new HashSet<>();
    exchange
        .headers(HeaderNames.CONNECTION)
        .forEach(
            value ->
                Arrays.stream(value.split(",", -1))
                    .map(name -> name.strip().toLowerCase(Locale.ROOT))
                    .forEach(ofConnection::add));
    exchange.eachHeader((name, value) -> pass(name, value, ofConnection, plain));
    if (plain) {
      put("Accept-Encoding", "identity");
    }
    String cookies = Cookies.forApp(exchange, target);
    if (!cookies.isEmpty()) {
      put("Cookie", cookies);
    }
    if (exchange.header(HeaderNames.ORIGIN).isPresent()) {
      // Checked by us. Apps compare it with the host that they are called by.
      put("Origin", "http://" + target.host());
    }
    if (exchange.contentLength().isEmpty()) {
      put("Transfer-Encoding", "chunked");
    } else if (exchange.header(HeaderNames.CONTENT_LENGTH).isPresent()) {
      put("Content-Length", String.valueOf(exchange.contentLength().getAsLong()));
    }
    return head.append("\r\n").toString().getBytes(StandardCharsets.ISO_8859_1);
  }

  private void forwarded() {
    put("X-Forwarded-For", exchange.clientAddress());
    put("X-Forwarded-Host", exchange.authority());
    put("X-Forwarded-Proto", exchange.secure() ? "https" : "http");
    if (!target.prefix().isEmpty()) {
      put("X-Forwarded-Prefix", target.prefix());
    }
  }

  private void pass(String name, String value, Set<String> ofConnection, boolean plain) {
    String lower = name.toLowerCase(Locale.ROOT);
    boolean packs = lower.equals("accept-encoding") || lower.equals(EXTENSIONS.lowerCase());
    if (!DROPPED.contains(lower)
        && !lower.startsWith("x-forwarded-")
        && !ofConnection.contains(lower)
        && !(plain && packs)
        && !door.isOurs(name, value)) {
      put(name, value);
    }
  }

  private void put(String name, String value) {
    if (!value.chars().allMatch(c -> c == '\t' || (c >= 0x20 && c != 0x7f && c <= 0xff))
        || !name.chars().allMatch(AnswerHead::isTokenChar)) {
      throw HttpProblem.unreadable("header", "holds control characters");
    }
    head.append(name).append(": ").append(value).append("\r\n");
  }
}
