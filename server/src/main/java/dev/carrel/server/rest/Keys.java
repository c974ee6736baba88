package dev.carrel.server.rest;

import dev.carrel.control.idempotency.RequestKey;
import dev.carrel.server.http.Exchange;
import dev.carrel.server.http.Fields;
import dev.carrel.spi.SandboxException;
import io.helidon.http.HeaderName;
import io.helidon.http.HeaderNames;
import org.jspecify.annotations.Nullable;

/** What a caller says so that it can ask again after a broken connection. */
final class Keys {
  private static final HeaderName KEY = HeaderNames.create(RequestKey.FIELD);
  private static final HeaderName REPLAYED = HeaderNames.create("Idempotency-Replayed");
  private static final HeaderName LAST_EVENT = HeaderNames.create("Last-Event-ID");

  private Keys() {}

  static @Nullable RequestKey of(Exchange exchange, Fields fields) {
    return exchange.header(KEY).map(name -> new RequestKey(name, fields.digest())).orElse(null);
  }

  /** Tells the caller that it gets what an earlier request began. */
  static void replayed(Exchange exchange, boolean replayed) {
    if (replayed) {
      exchange.header(REPLAYED, "true");
    }
  }

  /** Where a stream shall go on. A browser that lost it says so by itself. */
  static long from(Exchange exchange) {
    try {
      return exchange
          .header(LAST_EVENT)
          .map(Long::parseUnsignedLong)
          .orElseGet(() -> exchange.query().number("from", 0, 0, Long.MAX_VALUE));
    } catch (NumberFormatException e) {
      throw SandboxException.invalid("Last-Event-ID", "must be an offset");
    }
  }
}
