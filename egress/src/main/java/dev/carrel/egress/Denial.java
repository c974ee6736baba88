package dev.carrel.egress;

import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/** What a client inside is told, in words that an agent can act on. */
final class Denial {
  private static final int MAX_PHRASE = 200;

  private Denial() {}

  /**
   * An answer to an HTTP request.
   *
   * @param asked null: it could not be read
   */
  static byte[] http(String sandbox, @Nullable Asked asked, RefusedException why, boolean close) {
    String target = asked == null ? null : asked.target().toString();
    String body =
        "{\"title\":\"egress %s\",\"status\":%d,\"code\":\"egress_%s\",\"detail\":%s,\"target\":%s,\"rule\":%s,\"sandbox\":%s,\"hint\":%s}\n"
            .formatted(
                why.reason().forbids() ? "denied" : "failed",
                why.reason().status(),
                why.reason().wireName(),
                json(why.message()),
                json(target),
                json(why.rule()),
                json(sandbox),
                json(hint(sandbox, asked, why.reason())));
    // Many clients show nothing but this line when a tunnel is refused.
    String phrase =
        "Egress " + Printable.of(why.reason().wireName() + ": " + why.message(), MAX_PHRASE);
    byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
    String head =
        "HTTP/1.1 %d %s\r\nContent-Type: application/problem+json\r\nContent-Length: %d\r\n%s%s\r\n"
            .formatted(
                why.reason().status(),
                phrase,
                bytes.length,
                why.reason() == Reason.TOKEN
                    ? "Proxy-Authenticate: Basic realm=\"carrel\"\r\n"
                    : "",
                close ? "Connection: close\r\n" : "");
    byte[] start = head.getBytes(StandardCharsets.ISO_8859_1);
    byte[] answer = new byte[start.length + bytes.length];
    System.arraycopy(start, 0, answer, 0, start.length);
    System.arraycopy(bytes, 0, answer, start.length, bytes.length);
    return answer;
  }

  /** What can be done about it. */
  static String hint(String sandbox, @Nullable Asked asked, Reason reason) {
    return switch (reason) {
      case NOT_ALLOWED, PORT ->
          asked == null
              ? "ask the owner of the sandbox to allow it"
              : "ask the owner of this sandbox to allow it: carrel egress allow %s %s"
                  .formatted(sandbox, wanted(asked.target()));
      case METHOD_OR_PATH ->
          "the policy allows only some requests to this host; ask its owner: carrel egress show "
              + sandbox;
      case DENIED -> "this host is denied on purpose; do without it";
      case ADDRESS -> "addresses that are not the internet are out of reach; do without it";
      case NO_TLS -> "only TLS passes here; use https, or have host and port allowed by name";
      case TLS_NAME, TLS_HIDDEN_NAME ->
          "let the TLS client name the host that it asked the proxy for, without ECH";
      case BUDGET -> "the sandbox has used up what it may send and receive";
      case CANARY -> "the value of a secret is in it that has no business there";
      case TLS_FAILED ->
          "the proxy speaks TLS with both ends here, since a secret is bound to this host; trust the"
              + " certificates in SSL_CERT_FILE, and see what the detail says of the server's";
      case TOKEN -> "use the proxy as HTTP_PROXY gives it, with its token";
      case MALFORMED -> "send a plain HTTP/1.1 request, CONNECT or SOCKS5";
      case TOO_MANY -> "close connections that are not needed, and try again";
      case UNRESOLVED, UNREACHABLE, TIMED_OUT ->
          "the policy allows it, but it did not work out; try again later";
    };
  }

  private static String wanted(Target target) {
    boolean web = target.port() == 80 || target.port() == 443;
    return web ? target.host().toString() : target.toString();
  }

  private static String json(@Nullable String text) {
    if (text == null) {
      return "null";
    }
    var out = new StringBuilder("\"");
    for (char c : Printable.of(text, 1000).toCharArray()) {
      if (c == '"' || c == '\\') {
        out.append('\\');
      }
      out.append(c);
    }
    return out.append('"').toString();
  }
}
