package dev.carrel.server.http;

import dev.carrel.control.sandbox.Caller;
import dev.carrel.server.auth.Authenticator;
import dev.carrel.server.auth.Bearer;
import dev.carrel.spi.DataSize;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import io.helidon.http.HeaderName;
import io.helidon.http.HeaderNames;
import io.helidon.http.HeaderValues;
import io.helidon.webserver.CloseConnectionException;
import io.helidon.webserver.ServerConnectionException;
import io.helidon.webserver.http.Filter;
import io.helidon.webserver.http.FilterChain;
import io.helidon.webserver.http.RoutingRequest;
import io.helidon.webserver.http.RoutingResponse;
import java.io.IOException;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Function;

/**
 * The way of every request: guard, route, token, handler, and the one place where a failure becomes
 * an answer.
 */
public final class Dispatcher implements Filter {
  private static final HeaderName REQUEST_ID = HeaderNames.create("X-Request-Id");
  private static final HeaderName NO_SNIFF = HeaderNames.create("X-Content-Type-Options");
  private static final long LINGER_BYTES = 64L * 1024 * 1024;
  private static final Duration LINGER = Duration.ofSeconds(2);

  private final Function<Exchange, Router> routers;
  private final Connections connections;
  private final HostGuard guard;
  private final Authenticator authenticator;
  private final RequestLog log;
  private final Exchange.Limits limits;
  private final Function<Exchange, Optional<String>> causeOfDeath;
  private final RequestIds ids = new RequestIds();

  /**
   * @param routers what a request is served by: most have paths of the server's own, some are meant
   *     for a port of a sandbox
   * @param causeOfDeath why the sandbox that a request names has died
   */
  public Dispatcher(
      Function<Exchange, Router> routers,
      Connections connections,
      HostGuard guard,
      Authenticator authenticator,
      RequestLog log,
      DataSize maxJsonBody,
      Duration keepAlive,
      Function<Exchange, Optional<String>> causeOfDeath) {
    this.routers = routers;
    this.connections = connections;
    this.guard = guard;
    this.authenticator = authenticator;
    this.log = log;
    this.limits = new Exchange.Limits(maxJsonBody.bytes(), keepAlive);
    this.causeOfDeath = causeOfDeath;
  }

  @Override
  public void filter(FilterChain chain, RoutingRequest request, RoutingResponse response) {
    long start = System.nanoTime();
    String requestId = request.headers().first(REQUEST_ID).map(ids::of).orElseGet(ids::next);
    var exchange = new Exchange(request, response, connections.current(), limits, requestId);
    String method = request.prologue().method().text();
    try {
      response.header(REQUEST_ID, requestId);
      response.header(NO_SNIFF, "nosniff");
      if (request.headers().containsToken(HeaderValues.CONNECTION_CLOSE)) {
        exchange.closeAfterwards();
      }
      serve(exchange, method);
    } catch (InterruptedException e) {
      interrupted(exchange);
    } catch (ClientGoneException | ServerConnectionException e) {
      throw new CloseConnectionException("the client has gone", e);
    } catch (CloseConnectionException e) {
      throw e;
    } catch (Exception e) {
      fail(exchange, e);
    } finally {
      if (!connections.current().steady()) {
        // Somebody reads ahead on the connection.
        exchange.closeAfterwards();
      }
      log.record(exchange, method, System.nanoTime() - start);
    }
    response.commit();
    if (exchange.closing()) {
      if (exchange.unread()) {
        exchange.linger(LINGER_BYTES, LINGER);
      }
      throw new CloseConnectionException("the connection ends with this answer");
    }
  }

  private void serve(Exchange exchange, String method) throws Exception {
    if (connections.stopping()) {
      throw stopping();
    }
    guard.checkHost(exchange.authority());
    Router.Match match;
    try {
      match = routers.apply(exchange).match(method, exchange.rawPath());
    } catch (HttpProblem e) {
      checkOrigin(exchange);
      // Without a token nobody learns what there is.
      authenticate(exchange);
      throw e;
    }
    exchange.matched(match);
    if (match.route().access() != Route.Access.OWN) {
      checkOrigin(exchange);
    }
    if (match.route().access() == Route.Access.TOKEN) {
      exchange.authenticated(authenticate(exchange));
    }
    match.route().handler().handle(exchange);
    if (!exchange.answered()) {
      throw new IllegalStateException("no answer from " + match.route().template());
    }
  }

  private static void checkOrigin(Exchange exchange) {
    HostGuard.checkOrigin(exchange.authority(), exchange.header(HeaderNames.ORIGIN).orElse(null));
  }

  private Caller authenticate(Exchange exchange) {
    String value =
        exchange
            .header(HeaderNames.AUTHORIZATION)
            .orElseThrow(() -> HttpProblem.unauthenticated("a bearer token is needed"));
    String token =
        Bearer.token(value)
            .orElseThrow(
                () -> HttpProblem.unauthenticated("the Authorization header has no bearer token"));
    return authenticator
        .authenticate(token)
        .orElseThrow(() -> HttpProblem.unauthenticated("the token is not valid"));
  }

  private void interrupted(Exchange exchange) {
    Connection connection = connections.current();
    if (connection.clientGone()) {
      throw new CloseConnectionException("the client has gone");
    }
    // The flag would break the very write that tells the client.
    Thread.interrupted();
    fail(exchange, stopping());
  }

  private static SandboxException stopping() {
    return new SandboxException(ErrorCode.SHUTTING_DOWN, "the server is shutting down")
        .withHint("try again when it is back");
  }

  private void fail(Exchange exchange, Exception e) {
    Failure.log(exchange, e);
    Problem problem = problem(exchange, e);
    if (exchange.upgraded()) {
      throw new CloseConnectionException("a WebSocket broke off", e);
    }
    EventStream events = exchange.begunEvents();
    if (events != null) {
      try {
        events.send("failure", problem);
        return;
      } catch (IOException | ServerConnectionException writing) {
        throw new CloseConnectionException("the client has gone", writing);
      }
    }
    if (!exchange.takeBack()) {
      throw new CloseConnectionException("an answer broke off", e);
    }
    if (connections.stopping()) {
      exchange.closeAfterwards();
    }
    exchange.header(REQUEST_ID, exchange.requestId()).header(NO_SNIFF, "nosniff");
    Failure.describe(exchange, e);
    exchange.header(HeaderNames.CONTENT_TYPE, "application/problem+json");
    exchange.bytes(problem.status(), Json.bytes(problem));
  }

  private Problem problem(Exchange exchange, Exception e) {
    String requestId = exchange.requestId();
    return switch (e) {
      case HttpProblem http -> Problem.of(http, requestId);
      case SandboxException sandbox when sandbox.code().kind() == ErrorCode.Kind.BUG ->
          Problem.internal(requestId);
      case SandboxException sandbox -> {
        String cause =
            switch (sandbox.code()) {
              case SANDBOX_GONE -> causeOfDeath.apply(exchange).orElse("unknown");
              // One that can be started again is not gone; how it ended is good to know all the
              // same.
              case WRONG_STATE -> causeOfDeath.apply(exchange).orElse(null);
              default -> null;
            };
        yield Problem.of(sandbox, cause, requestId);
      }
      default -> Problem.internal(requestId);
    };
  }
}
