package dev.carrel.server.app;

import dev.carrel.control.port.Ports;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.server.auth.Authenticator;
import dev.carrel.server.auth.Bearer;
import dev.carrel.server.http.Exchange;
import dev.carrel.server.http.HostGuard;
import dev.carrel.server.http.SandboxHosts.Place;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import io.helidon.http.HeaderName;
import io.helidon.http.HeaderNames;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * Lets in who may use a port: by a token of the API, by a link, or by the cookie that a link left.
 * Also knows which headers hold such things, so that no app ever sees them.
 */
final class Door {
  /** For clients whose {@code Authorization} is for the app. */
  static final HeaderName TOKEN = HeaderNames.create("X-Carrel-Token");

  private static final HeaderName TRAFFIC = HeaderNames.create("E2B-Traffic-Access-Token");
  private static final HeaderName SITE = HeaderNames.create("Sec-Fetch-Site");
  private static final HeaderName MODE = HeaderNames.create("Sec-Fetch-Mode");
  private static final Set<String> OTHER_SITES = Set.of("cross-site", "same-site");

  /** Names under which clients may send one of our tokens. */
  private static final Set<String> MAY_HOLD_TOKENS =
      Set.of("authorization", "x-api-key", "x-access-token");

  private static final Set<String> HOLD_TOKENS =
      Set.of("x-carrel-token", "e2b-traffic-access-token", "proxy-authorization");

  private static final Set<String> STAY_BEHIND = Set.of("authorization", "proxy-authorization");

  private final Ports ports;
  private final Authenticator authenticator;

  Door(Ports ports, Authenticator authenticator) {
    this.ports = ports;
    this.authenticator = authenticator;
  }

  /** Who came in, and how. */
  record Entry(Caller caller, Means means) {}

  /**
   * Finds who asks.
   *
   * @param link that came with the path or the query; null: none did
   * @param means by which the link came
   * @param cookies links that came as cookies
   */
  Entry admit(
      Exchange exchange, Place place, @Nullable String link, Means means, List<String> cookies) {
    Entry entry =
        link == null
            ? byHeader(exchange, place).or(() -> byCookie(place, cookies)).orElseThrow(Door::closed)
            : new Entry(byLink(place, link), means);
    checkOrigin(exchange, entry.means());
    return entry;
  }

  /** Throws unless there is some token: who has none learns nothing. */
  void requireToken(Exchange exchange) {
    if (token(exchange).flatMap(authenticator::authenticate).isEmpty()) {
      throw closed();
    }
  }

  private Optional<Entry> byHeader(Exchange exchange, Place place) {
    Optional<String> traffic = exchange.header(TRAFFIC);
    if (traffic.isPresent()) {
      return ports
          .admitTraffic(place.sandbox(), traffic.get())
          .map(caller -> new Entry(caller, Means.TOKEN))
          .or(
              () -> {
                throw new SandboxException(
                    ErrorCode.FORBIDDEN, "the traffic access token is not of this sandbox");
              });
    }
    return token(exchange)
        .flatMap(authenticator::authenticate)
        .map(caller -> new Entry(caller, Means.TOKEN));
  }

  private static Optional<String> token(Exchange exchange) {
    return exchange
        .header(TOKEN)
        .map(String::strip)
        .or(() -> exchange.header(HeaderNames.AUTHORIZATION).flatMap(Bearer::token));
  }

  private Optional<Entry> byCookie(Place place, List<String> cookies) {
    // A neighbour below the same domain can add cookies of this name: only a right one counts.
    return cookies.stream()
        .map(cookie -> ports.admit(place.sandbox(), place.port(), cookie))
        .flatMap(Optional::stream)
        .findFirst()
        .map(caller -> new Entry(caller, Means.COOKIE));
  }

  private Caller byLink(Place place, String link) {
    return ports
        .admit(place.sandbox(), place.port(), link)
        .orElseThrow(
            () ->
                new SandboxException(
                        ErrorCode.UNAUTHENTICATED, "this link is wrong, or its time is over")
                    .withHint("ask for a new one: carrel open SANDBOX PORT"));
  }

  private static SandboxException closed() {
    return new SandboxException(ErrorCode.UNAUTHENTICATED, "a token or a link is needed")
        .withHint("ask for a link: carrel open SANDBOX PORT");
  }

  private static void checkOrigin(Exchange exchange, Means means) {
    String origin = exchange.header(HeaderNames.ORIGIN).orElse(null);
    // A page on the shared origin is held in one of its own that has no name.
    boolean held = means == Means.PATH && "null".equals(origin);
    if (!held) {
      HostGuard.checkOrigin(exchange.authority(), origin);
    }
    boolean navigates =
        exchange.header(MODE).filter("navigate"::equals).isPresent()
            && (exchange.method().equals("GET") || exchange.method().equals("HEAD"));
    if (means == Means.COOKIE
        && !navigates
        && exchange.header(SITE).filter(OTHER_SITES::contains).isPresent()) {
      throw new SandboxException(ErrorCode.FORBIDDEN, "a page of another site sent this request")
          .withHint("call the app from its own pages, or with a token");
    }
  }

  /** Whether a header holds what opens something of ours. */
  boolean isOurs(String name, String value) {
    String lower = name.toLowerCase(Locale.ROOT);
    if (HOLD_TOKENS.contains(lower)) {
      return true;
    }
    return MAY_HOLD_TOKENS.contains(lower)
        && authenticator.authenticate(Bearer.token(value).orElse(value.strip())).isPresent();
  }

  /**
   * Whether a token came in a header that clients take along when they are sent to another host.
   * {@code Authorization} they leave behind.
   */
  boolean holdsTokenOfOurs(Exchange exchange) {
    var found = new AtomicBoolean();
    exchange.eachHeader(
        (name, value) -> {
          if (!STAY_BEHIND.contains(name.toLowerCase(Locale.ROOT)) && isOurs(name, value)) {
            found.set(true);
          }
        });
    return found.get();
  }
}
