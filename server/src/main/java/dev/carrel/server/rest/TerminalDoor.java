package dev.carrel.server.rest;

import dev.carrel.control.sandbox.Caller;
import dev.carrel.control.terminal.Admission;
import dev.carrel.control.terminal.Terminals;
import dev.carrel.server.auth.Authenticator;
import dev.carrel.server.auth.Bearer;
import dev.carrel.server.http.Exchange;
import dev.carrel.server.http.HostGuard;
import dev.carrel.server.http.HttpProblem;
import dev.carrel.server.http.Subprotocols;
import dev.carrel.spi.SandboxException;
import io.helidon.http.HeaderNames;
import java.time.Instant;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Lets in who may attach to a terminal: by a token in a header, by one in the place that browsers
 * have for it, or by a link. Pages of other sites may not, whatever they have.
 */
final class TerminalDoor {
  private final Terminals terminals;
  private final Authenticator authenticator;

  TerminalDoor(Terminals terminals, Authenticator authenticator) {
    this.terminals = terminals;
    this.authenticator = authenticator;
  }

  /**
   * Who came in.
   *
   * @param end when that is over; null: when it leaves
   */
  record Entry(Caller caller, boolean writes, @Nullable Instant end) {}

  Entry admit(Exchange exchange) {
    // A link that does not open is no reason to try what else there is.
    Entry entry =
        exchange
            .query()
            .text("link")
            .map(link -> byLink(exchange, link))
            .orElseGet(() -> byToken(exchange));
    HostGuard.checkOrigin(exchange.authority(), exchange.header(HeaderNames.ORIGIN).orElse(null));
    exchange.authenticated(entry.caller());
    return entry;
  }

  private Entry byToken(Exchange exchange) {
    return exchange
        .header(HeaderNames.AUTHORIZATION)
        .flatMap(Bearer::token)
        .or(() -> Subprotocols.token(exchange))
        .flatMap(authenticator::authenticate)
        .map(caller -> new Entry(caller, true, null))
        .orElseThrow(() -> HttpProblem.unauthenticated("a token or a link is needed"));
  }

  private Entry byLink(Exchange exchange, String link) {
    return admission(exchange, link)
        .map(one -> new Entry(one.caller(), one.writes(), one.end()))
        .orElseThrow(() -> HttpProblem.unauthenticated("this link is wrong, or its time is over"));
  }

  private Optional<Admission> admission(Exchange exchange, String link) {
    try {
      return terminals.admit(Ids.sandbox(exchange), Ids.exec(exchange), link);
    } catch (SandboxException e) {
      // Ids that are none: nothing is there that a link could open.
      return Optional.empty();
    }
  }
}
