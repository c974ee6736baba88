package dev.carrel.server.e2b;

import dev.carrel.control.sandbox.Caller;
import dev.carrel.server.auth.Authenticator;
import dev.carrel.server.auth.Bearer;
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
    return exchange
        .header(KEY)
        .map(String::strip)
        .or(() -> exchange.header(HeaderNames.AUTHORIZATION).flatMap(Bearer::token))
        .flatMap(authenticator::authenticate)
        .orElseThrow(
            () ->
                new SandboxException(ErrorCode.UNAUTHENTICATED, "the API key is missing or wrong")
                    .withHint("make one with: carrel keys create"));
  }
}
