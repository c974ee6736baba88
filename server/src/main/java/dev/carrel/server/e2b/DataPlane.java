package dev.carrel.server.e2b;

import dev.carrel.control.access.AccessTokens;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.control.sandbox.SandboxStatus;
import dev.carrel.control.sandbox.Sandboxes;
import dev.carrel.server.http.Exchange;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import io.helidon.http.HeaderName;
import io.helidon.http.HeaderNames;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Who may use the inside of a sandbox: whoever has its token, while it runs. */
final class DataPlane {
  /** What a sandbox's metadata says of one that goes on by itself when it is used. */
  static final String AUTO_RESUME = "carrel.auto-resume";

  private static final HeaderName TOKEN = HeaderNames.create("X-Access-Token");
  private static final HeaderName TRAFFIC = HeaderNames.create("E2B-Traffic-Access-Token");
  private static final String BASIC = "Basic ";

  /** Names of the one user that there is. */
  private static final Set<String> USERS = Set.of("", "user", "carrel");

  private final Sandboxes sandboxes;
  private final AccessTokens tokens;
  private final Lifetime lifetime;
  private final String domain;

  DataPlane(Sandboxes sandboxes, AccessTokens tokens, Lifetime lifetime, String domain) {
    this.sandboxes = sandboxes;
    this.tokens = tokens;
    this.lifetime = lifetime;
    this.domain = domain;
  }

  /** The place that a request names; older clients name none, and only show its token. */
  Optional<Place> place(Exchange exchange) {
    Optional<Place> named = Place.of(exchange, domain);
    if (named.isPresent() || !showsToken(exchange)) {
      return named;
    }
    return exchange
        .header(TOKEN)
        .flatMap(tokens::find)
        .map(sandbox -> new Place(sandbox, Place.ENVD))
        .or(
            () -> {
              throw SandboxAway.notRunning("");
            });
  }

  /**
   * Whether a request is for the inside of a sandbox, rightly or not. Python's client of a year ago
   * names the sandbox also when it asks the control plane to let it go on.
   */
  boolean isFor(Exchange exchange) {
    return isHost(exchange)
        || showsToken(exchange)
        || (Place.isNamed(exchange, domain) && exchange.header(Door.KEY).isEmpty());
  }

  /** Whether a request is for the inside of a sandbox by the host that it names. */
  boolean isHost(Exchange exchange) {
    return Place.isHost(exchange, domain);
  }

  /** A caller for a request that shows the sandbox's token and names a user that exists. */
  Caller admit(Exchange exchange, SandboxId sandbox) {
    return admit(sandbox, exchange.header(TOKEN).orElse(""), user(exchange));
  }

  /** As {@link #admit(Exchange, SandboxId)}, also by the token for what listens in the sandbox. */
  Caller admitTraffic(Exchange exchange, SandboxId sandbox) {
    Optional<String> token = exchange.header(TRAFFIC);
    if (token.isEmpty() || showsToken(exchange)) {
      return admit(exchange, sandbox);
    }
    Sandbox there = requireRunning(sandbox);
    Caller caller =
        tokens
            .openTraffic(sandbox, token.get())
            .orElseThrow(
                () ->
                    new SandboxException(ErrorCode.FORBIDDEN, "the traffic access token is wrong"));
    return entering(caller, there);
  }

  /** Whether a request says that it has the token, rightly or not. */
  boolean showsToken(Exchange exchange) {
    return exchange.header(TOKEN).filter(token -> !token.isEmpty()).isPresent();
  }

  private Caller admit(SandboxId sandbox, String token, @Nullable String user) {
    Sandbox there = requireRunning(sandbox);
    Caller caller =
        tokens
            .open(sandbox, token)
            .orElseThrow(
                () ->
                    new SandboxException(
                        ErrorCode.UNAUTHENTICATED, "the access token is missing or wrong"));
    requireUser(user);
    return entering(caller, there);
  }

  /** One that was paused has its time anew, now that somebody comes who may wake it. */
  Caller entering(Caller caller, Sandbox sandbox) {
    if (sandbox.status() == SandboxStatus.PAUSED) {
      lifetime.renew(caller, sandbox);
    }
    return caller;
  }

  /** A paused one is not woken by those who only want to look, unless its owner said so. */
  Sandbox requireRunning(SandboxId id) {
    Sandbox sandbox = sandboxes.find(id).orElseThrow(() -> SandboxAway.notRunning(id.value()));
    boolean wakes =
        sandbox.status() == SandboxStatus.PAUSED
            && "true".equals(sandbox.metadata().get(AUTO_RESUME));
    if (sandbox.status() != SandboxStatus.RUNNING && !wakes) {
      throw SandboxAway.notRunning(id.value());
    }
    return sandbox;
  }

  /** Refuses names of users that a sandbox does not have. */
  static void requireUser(@Nullable String user) {
    if (user != null && !USERS.contains(user)) {
      throw new SandboxException(
              ErrorCode.UNAUTHENTICATED, "there is no user '" + user + "' in a sandbox")
          .withHint("all commands run as its one user, 'user'; nobody is root");
    }
  }

  private static @Nullable String user(Exchange exchange) {
    String value = exchange.header(HeaderNames.AUTHORIZATION).orElse("");
    if (!value.regionMatches(true, 0, BASIC, 0, BASIC.length())) {
      return null;
    }
    try {
      String pair =
          new String(
              Base64.getDecoder().decode(value.substring(BASIC.length()).strip()),
              StandardCharsets.UTF_8);
      int colon = pair.indexOf(':');
      return colon < 0 ? pair : pair.substring(0, colon);
    } catch (IllegalArgumentException e) {
      throw new SandboxException(ErrorCode.UNAUTHENTICATED, "the user's name is not base64", e);
    }
  }
}
