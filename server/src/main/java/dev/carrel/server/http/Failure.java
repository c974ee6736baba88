package dev.carrel.server.http;

import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import io.helidon.http.HeaderNames;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What goes with a failure in whatever form it is told: a line in the log for who runs the server,
 * and the headers that say what to do about it.
 */
public final class Failure {
  private static final Logger LOG = LoggerFactory.getLogger(Failure.class);
  private static final String RETRY_AFTER_SECONDS = "1";

  private Failure() {}

  /** As {@link #log} and {@link #describe}, for a request that is about to be answered. */
  public static void note(Exchange exchange, Exception e) {
    log(exchange, e);
    describe(exchange, e);
  }

  public static void log(Exchange exchange, Exception e) {
    log("request " + exchange.requestId(), e);
  }

  /** Says nothing of what is the caller's own matter. */
  public static void log(String what, Exception e) {
    switch (e) {
      case HttpProblem _, ClientGoneException _ -> {}
      // Pages that cannot be had are everyday business: where it happened in our code tells
      // nothing.
      case SandboxException sandbox when sandbox.code() == ErrorCode.WEB_FAILED ->
          LOG.warn("{} failed: {}", what, sandbox.message());
      case SandboxException sandbox when sandbox.code().kind() == ErrorCode.Kind.ENGINE ->
          LOG.warn("{} failed", what, e);
      case SandboxException sandbox when sandbox.code().kind() != ErrorCode.Kind.BUG -> {}
      default -> LOG.error("{} failed", what, e);
    }
  }

  /** Sets the headers that the failure wants; nothing may have been sent yet. */
  static void describe(Exchange exchange, Exception e) {
    if (e instanceof HttpProblem http && http.headerName() != null && http.headerValue() != null) {
      exchange.header(HeaderNames.create(http.headerName()), http.headerValue());
    }
    if (passes(e)) {
      tellToRetry(exchange);
    }
  }

  /** For an answer that may be another one in a moment. */
  public static void tellToRetry(Exchange exchange) {
    exchange.header(HeaderNames.RETRY_AFTER, RETRY_AFTER_SECONDS);
  }

  // By the kind and not by the status: E2B has the same one for a sandbox that is gone for good.
  private static boolean passes(Exception e) {
    return switch (e) {
      case HttpProblem http -> http.status() == 429 || http.status() == 503;
      case SandboxException sandbox ->
          sandbox.code().kind() == ErrorCode.Kind.LIMIT
              || sandbox.code().kind() == ErrorCode.Kind.UNAVAILABLE;
      default -> false;
    };
  }
}
