package dev.carrel.server.e2b;

import dev.carrel.control.sandbox.Caller;
import dev.carrel.server.auth.Authenticator;
import dev.carrel.server.http.Exchange;
import dev.carrel.server.http.Route.Handler;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import io.helidon.http.HeaderName;
import io.helidon.http.HeaderNames;

/** Lets in who has a key, and tells failures in E2B's form. */
final class Door {
  /** What only clients of the control plane show. */
  static final HeaderName KEY = HeaderNames.create("X-API-KEY");

  private static final String BEARER = "Bearer ";

  private final Authenticator authenticator;

  Door(Authenticator authenticator) {
    this.authenticator = authenticator;
  }

  /** Answers a request of a known caller. */
  interface Answer {
    void give(Exchange exchange, Caller caller) throws Exception;
  }

  Handler guarded(Answer answer) {
    return Failures.told(exchange -> answer.give(exchange, admit(exchange)));
  }

  private Caller admit(Exchange exchange) {
    String bearer = exchange.header(HeaderNames.AUTHORIZATION).orElse("");
    String key =
        exchange
            .header(KEY)
            .orElse(
                bearer.regionMatches(true, 0, BEARER, 0, BEARER.length())
                    ? bearer.substring(BEARER.length())
                    : "");
    return authenticator
        .authenticate(key.strip())
        .orElseThrow(
            () ->
                new SandboxException(ErrorCode.UNAUTHENTICATED, "the API key is missing or wrong")
                    .withHint("make one with: carrel keys create"));
  }
}
