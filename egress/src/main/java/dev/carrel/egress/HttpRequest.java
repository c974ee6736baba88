package dev.carrel.egress;

import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.function.UnaryOperator;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A request to the proxy, understood.
 *
 * @param version the minor one: 0 or 1
 * @param pathAndQuery as it goes to the server; empty for CONNECT
 * @param secure whether it came inside TLS
 */
record HttpRequest(
    HttpHead head, Asked asked, int version, String pathAndQuery, Framing framing, boolean secure) {
  private static final Pattern ABSOLUTE =
      Pattern.compile("http://([^/?#]*)([/?].*)?", Pattern.CASE_INSENSITIVE);
  private static final Pattern VISIBLE = Pattern.compile("[!-~&&[^#]]*");
  private static final int WEB = 80;
  private static final int TLS = 443;
  private static final int MAX_FILLED = 64 * 1024;
  // What a server compresses, or sends in parts, cannot be looked through.
  private static final Set<String> NOT_BROKERED = Set.of("accept-encoding", "range", "if-range");

  /**
   * @param origin where requests go that name no host; null: such requests are wrong
   * @param secure whether it came inside TLS
   */
  static HttpRequest of(HttpHead head, @Nullable Target origin, boolean secure)
      throws RefusedException {
    List<String> start = head.start();
    if (start.size() != 3
        || !HttpHead.isToken(start.get(0))
        || !VISIBLE.matcher(start.get(1)).matches()
        || !start.get(2).matches("HTTP/1\\.[01]")) {
      throw RefusedException.malformed("not an HTTP/1.1 request");
    }
    int version = start.get(2).endsWith("1") ? 1 : 0;
    try {
      return start.get(0).equals("CONNECT")
          ? connect(head, start.get(1), version)
          : plain(head, origin, version, secure);
    } catch (IllegalArgumentException e) {
      throw RefusedException.malformed(String.valueOf(e.getMessage()));
    }
  }

  private static HttpRequest connect(HttpHead head, String authority, int version)
      throws RefusedException {
    Target target = Target.parse(authority, 0);
    requireSameHost(head, target, 0, version);
    Framing framing = head.framing();
    if (framing != null && framing.hasBody()) {
      throw RefusedException.malformed("CONNECT has no body");
    }
    return new HttpRequest(
        head, Asked.tunnel("connect", target), version, "", new Framing.None(), false);
  }

  private static HttpRequest plain(
      HttpHead head, @Nullable Target origin, int version, boolean secure) throws RefusedException {
    String uri = head.start().get(1);
    Target target = origin;
    String rest = uri;
    if (target == null || !uri.startsWith("/")) {
      var parts = ABSOLUTE.matcher(uri);
      if (secure) {
        throw RefusedException.malformed("a request inside TLS has a path, not a whole URL");
      }
      if (!parts.matches()) {
        throw RefusedException.malformed(
            uri.toLowerCase(Locale.ROOT).startsWith("https:")
                ? "a URL of https goes through CONNECT"
                : "a request to a proxy has a whole URL, as in http://example.com/");
      }
      target = Target.parse(String.valueOf(parts.group(1)), WEB);
      rest = parts.group(2) == null ? "/" : parts.group(2);
      if (origin != null && !origin.equals(target)) {
        throw RefusedException.malformed("this tunnel goes to " + origin);
      }
    }
    String pathAndQuery = rest.startsWith("?") ? "/" + rest : rest;
    requireSameHost(head, target, secure ? TLS : WEB, version);
    if (secure && head.has("Upgrade")) {
      throw RefusedException.malformed("no upgrade passes to a host that a secret is bound to");
    }
    if (origin != null && head.has("Upgrade")) {
      throw new RefusedException(
          Reason.NO_TLS, "an upgrade to " + target + " needs a rule that names " + target);
    }
    Framing framing = head.framing();
    int query = pathAndQuery.indexOf('?');
    String path = query < 0 ? pathAndQuery : pathAndQuery.substring(0, query);
    return new HttpRequest(
        head,
        new Asked(secure ? "https" : "http", target, head.start().get(0), path),
        version,
        pathAndQuery,
        framing == null ? new Framing.None() : framing,
        secure);
  }

  /** A server believes its Host field: it must be what was checked. */
  private static void requireSameHost(HttpHead head, Target target, int usualPort, int version)
      throws RefusedException {
    List<String> hosts = head.values("Host");
    if (hosts.size() > 1 || (hosts.isEmpty() && version > 0)) {
      throw RefusedException.malformed("a request has one Host");
    }
    if (hosts.isEmpty()) {
      return;
    }
    int port = usualPort == 0 ? target.port() : usualPort;
    if (!Target.parse(hosts.getFirst(), port).equals(target)) {
      throw RefusedException.malformed("Host is not " + target);
    }
  }

  boolean isConnect() {
    return asked.isTunnel();
  }

  /** What the server is sent: our own words, not the client's. */
  String upstreamHead() {
    return upstreamHead(pathAndQuery, UnaryOperator.identity());
  }

  /** As {@link #upstreamHead()}, with the values of secrets in it. */
  String upstreamHead(Filling filling) throws RefusedException {
    String text = upstreamHead(filling.pathAndQuery(pathAndQuery), filling::field);
    if (text.length() > MAX_FILLED) {
      throw RefusedException.malformed("the head has too many secrets in it");
    }
    return text;
  }

  private String upstreamHead(String uri, UnaryOperator<String> filled) {
    var text = new StringBuilder(512);
    text.append(asked.method()).append(' ').append(uri).append(" HTTP/1.1\r\nHost: ");
    text.append(asked.target().authority(secure ? TLS : WEB)).append("\r\n");
    for (HttpHead.Field field : head.endToEnd()) {
      String name = field.name().toLowerCase(Locale.ROOT);
      if (!name.equals("host") && !(secure && NOT_BROKERED.contains(name))) {
        text.append(field.name()).append(": ").append(filled.apply(field.value())).append("\r\n");
      }
    }
    text.append(secure ? "Accept-Encoding: identity\r\n" : "");
    return text.append(framing.field()).append("\r\n").toString();
  }

  /** Whether the client keeps its connection. */
  boolean keepsAlive() {
    boolean close = head.says("Connection", "close") || head.says("Proxy-Connection", "close");
    return version > 0 && !close;
  }
}
