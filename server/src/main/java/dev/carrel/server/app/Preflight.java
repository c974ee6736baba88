package dev.carrel.server.app;

import dev.carrel.server.http.Exchange;
import io.helidon.http.HeaderName;
import io.helidon.http.HeaderNames;

/**
 * Lets the pages of an app on the shared origin call the app itself: they are held in an origin
 * without a name, so that to a browser everything is another site. Only with a link in the path,
 * which such a page knows of its own app alone.
 */
final class Preflight {
  private static final HeaderName ALLOW_ORIGIN = HeaderNames.create("Access-Control-Allow-Origin");
  private static final HeaderName ALLOW_METHODS =
      HeaderNames.create("Access-Control-Allow-Methods");
  private static final HeaderName ALLOW_HEADERS =
      HeaderNames.create("Access-Control-Allow-Headers");
  private static final HeaderName EXPOSE = HeaderNames.create("Access-Control-Expose-Headers");
  private static final HeaderName MAX_AGE = HeaderNames.create("Access-Control-Max-Age");
  private static final HeaderName ASKED_METHOD =
      HeaderNames.create("Access-Control-Request-Method");
  private static final HeaderName ASKED_HEADERS =
      HeaderNames.create("Access-Control-Request-Headers");

  /** Adds what lets the page read the answer; true when the question itself was all. */
  boolean answers(Exchange exchange) {
    if (!exchange.header(HeaderNames.ORIGIN).filter("null"::equals).isPresent()) {
      return false;
    }
    exchange.header(ALLOW_ORIGIN, "null").header(EXPOSE, "*");
    String method = exchange.header(ASKED_METHOD).orElse("");
    if (!exchange.method().equals("OPTIONS") || method.isEmpty()) {
      return false;
    }
    exchange
        .header(ALLOW_METHODS, method)
        .header(ALLOW_HEADERS, exchange.header(ASKED_HEADERS).orElse("*"))
        .header(MAX_AGE, "600")
        .noContent();
    return true;
  }
}
