package dev.carrel.egress;

import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A request to the proxy, understood.
 *
 * @param version the minor one: 0 or 1
 * @param pathAndQuery as it goes to the server; empty for CONNECT
 */
record HttpRequest(HttpHead head, Asked asked, int version, String pathAndQuery, Framing framing) {
  private static final Pattern ABSOLUTE =
      Pattern.compile("http://([^/?#]*)([/?].*)?", Pattern.CASE_INSENSITIVE);
  private static final Pattern VISIBLE = Pattern.compile("[!-~&&[^#]]*");
  private static final int WEB = 80;

  /**
   * @param origin where requests go that name no host; null: such requests are wrong
   */
  static HttpRequest of(HttpHead head, @Nullable Target origin) throws RefusedException {
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
          : plain(head, origin, version);
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
    return new HttpRequest(head, Asked.tunnel("connect", target), version, "", new Framing.None());
  }

  private static HttpRequest plain(HttpHead head, @Nullable Target origin, int version)
      throws RefusedException {
    String uri = head.start().get(1);
    Target target = origin;
    String rest = uri;
    if (target == null || !uri.startsWith("/")) {
      var parts = ABSOLUTE.matcher(uri);
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
    requireSameHost(head, target, WEB, version);
    if (origin != null && head.has("Upgrade")) {
      throw new RefusedException(
          Reason.NO_TLS, "an upgrade to " + target + " needs a rule that names " + target);
    }
    Framing framing = head.framing();
    int query = pathAndQuery.indexOf('?');
    String path = query < 0 ? pathAndQuery : pathAndQuery.substring(0, query);
    return new HttpRequest(
        head,
        new Asked("http", target, head.start().get(0), path),
        version,
        pathAndQuery,
        framing == null ? new Framing.None() : framing);
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
    var text = new StringBuilder(512);
    text.append(asked.method()).append(' ').append(pathAndQuery).append(" HTTP/1.1\r\nHost: ");
    text.append(asked.target().authority(WEB)).append("\r\n");
    for (HttpHead.Field field : head.endToEnd()) {
      if (!field.name().equalsIgnoreCase("Host")) {
        text.append(field.name()).append(": ").append(field.value()).append("\r\n");
      }
    }
    return text.append(framing.field()).append("\r\n").toString();
  }

  /** Whether the client keeps its connection. */
  boolean keepsAlive() {
    boolean close = head.says("Connection", "close") || head.says("Proxy-Connection", "close");
    return version > 0 && !close;
  }
}
