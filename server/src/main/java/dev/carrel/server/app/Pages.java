package dev.carrel.server.app;

import dev.carrel.server.http.Exchange;
import dev.carrel.server.http.Failure;
import dev.carrel.server.http.HttpProblem;
import dev.carrel.server.http.Route.Handler;
import dev.carrel.spi.SandboxException;
import io.helidon.http.HeaderName;
import io.helidon.http.HeaderNames;
import java.nio.charset.StandardCharsets;

/** Tells people in front of a browser what is wrong; programs get what every route gives them. */
final class Pages {
  private static final HeaderName CSP = HeaderNames.create("Content-Security-Policy");

  private Pages() {}

  static Handler told(Handler handler) {
    return exchange -> {
      try {
        handler.handle(exchange);
      } catch (SandboxException e) {
        if (!exchange.accepts("text/html") || exchange.begun() || !exchange.takeBack()) {
          throw e;
        }
        Failure.note(exchange, e);
        show(exchange, HttpProblem.status(e.code()), e.message(), e.hint().orElse(""));
      }
    };
  }

  private static void show(Exchange exchange, int status, String what, String then) {
    exchange
        .header(HeaderNames.CONTENT_TYPE, "text/html; charset=utf-8")
        .header(HeaderNames.CACHE_CONTROL, "no-store")
        .header(CSP, "default-src 'none'; style-src 'unsafe-inline'")
        .bytes(status, page(status, escaped(what), escaped(then)).getBytes(StandardCharsets.UTF_8));
  }

  private static String page(int status, String what, String then) {
    return """
    <!doctype html>
    <html lang="en"><head><meta charset="utf-8"><title>%1$d</title>
    <meta name="viewport" content="width=device-width">
    <style>
    body{font:16px/1.5 system-ui,sans-serif;max-width:34rem;margin:18vh auto;padding:0 1.5rem}
    h1{font-size:1.25rem} p{color:#555} small{color:#999}
    @media(prefers-color-scheme:dark){body{background:#111;color:#eee} p{color:#aaa}}
    </style></head>
    <body><h1>%2$s</h1><p>%3$s</p><small>Carrel, %1$d</small></body></html>

    """
        .formatted(status, what, then);
  }

  private static String escaped(String text) {
    return text.replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace("\"", "&quot;")
        .replace("'", "&#39;");
  }
}
