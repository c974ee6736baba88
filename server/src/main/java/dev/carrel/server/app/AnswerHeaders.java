package dev.carrel.server.app;

import dev.carrel.control.redact.Redaction;
import dev.carrel.server.http.Exchange;
import io.helidon.http.HeaderName;
import io.helidon.http.HeaderNames;
import java.util.HashSet;
import java.util.Locale;
import java.util.Set;

/** Headers of an app's answer, as its client gets to see them. */
final class AnswerHeaders {
  /**
   * A page on the shared origin may run scripts, but in an origin that nobody else has: it reads no
   * storage and no page of this server, nor of other apps.
   */
  private static final String HELD =
      "sandbox allow-scripts allow-forms allow-popups allow-modals allow-downloads"
          + " allow-pointer-lock";

  private static final HeaderName CSP = HeaderNames.create("Content-Security-Policy");
  private static final HeaderName NO_SNIFF = HeaderNames.create("X-Content-Type-Options");
  private static final HeaderName REFERRER = HeaderNames.create("Referrer-Policy");

  /** Between two neighbours, or about the host as a whole, which is not the app's. */
  private static final Set<String> DROPPED =
      Set.of(
          "connection",
          "keep-alive",
          "proxy-authenticate",
          "proxy-connection",
          "te",
          "trailer",
          "transfer-encoding",
          "upgrade",
          "content-length",
          "content-location",
          "set-cookie2",
          "alt-svc",
          "strict-transport-security",
          "public-key-pins",
          "public-key-pins-report-only",
          "x-request-id",
          "x-accel-buffering",
          "x-accel-redirect",
          "x-sendfile");

  /** About an origin, which an app may only say of its own. */
  private static final Set<String> OF_ORIGIN =
      Set.of(
          "clear-site-data",
          "nel",
          "report-to",
          "reporting-endpoints",
          "service-worker-allowed",
          "origin-trial",
          "origin-agent-cluster",
          "referrer-policy");

  private final Door door;
  private final Locations locations;

  AnswerHeaders(Door door, Locations locations) {
    this.door = door;
    this.locations = locations;
  }

  void copy(AnswerHead answer, Exchange exchange, Target target, Redaction redaction)
      throws AppBrokeOff {
    var ofConnection = new HashSet<String>();
    answer.tokens("connection").forEach(name -> ofConnection.add(name.toLowerCase(Locale.ROOT)));
    if (target.ownOrigin()) {
      exchange.withoutHeader(NO_SNIFF);
    }
    for (AnswerHead.Header header : answer.headers()) {
      String name = header.name().toLowerCase(Locale.ROOT);
      if (!DROPPED.contains(name) && !ofConnection.contains(name)) {
        copy(name, redaction.text(header.value()), exchange, target);
      }
    }
    if (!target.ownOrigin()) {
      exchange.addHeader(CSP, HELD).header(REFERRER, "same-origin");
    }
  }

  private void copy(String name, String value, Exchange exchange, Target target)
      throws AppBrokeOff {
    switch (name) {
      case "location" ->
          exchange.header(
              HeaderNames.LOCATION,
              locations.back(value, target, exchange.authority(), door.holdsTokenOfOurs(exchange)));
      case "set-cookie" ->
          Cookies.fromApp(value, target)
              .ifPresent(cookie -> exchange.addHeader(HeaderNames.SET_COOKIE, cookie));
      default -> {
        boolean ofOrigin = OF_ORIGIN.contains(name) || name.startsWith("access-control-");
        if (target.ownOrigin() || !ofOrigin) {
          exchange.addHeader(HeaderNames.create(name), value);
        }
      }
    }
  }
}
