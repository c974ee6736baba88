package dev.carrel.server.e2b;

import dev.carrel.server.http.Failure;
import dev.carrel.server.http.HttpProblem;
import dev.carrel.server.http.Route.Handler;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;

/** How a failure reaches E2B's clients: they look at a number, or at a word of Connect's. */
final class Failures {
  private Failures() {}

  /** What the control plane, files and the interpreter answer. */
  record Body(int code, String message) {}

  /** Lets failures of a plain HTTP route be told in E2B's form. */
  static Handler told(Handler inner) {
    return exchange -> {
      try {
        inner.handle(exchange);
      } catch (SandboxAway e) {
        Wire.json(exchange, 502, e.body());
      } catch (SandboxException e) {
        if (exchange.answered() || e.code().kind() == ErrorCode.Kind.BUG) {
          throw e;
        }
        Failure.note(exchange, e);
        int status = status(e.code());
        Wire.json(exchange, status, new Body(status, message(e)));
      } catch (HttpProblem e) {
        if (exchange.answered()) {
          throw e;
        }
        Failure.note(exchange, e);
        Wire.json(exchange, e.status(), new Body(e.status(), e.detail()));
      }
    };
  }

  /** What it says, and what to do about it. */
  static String message(SandboxException e) {
    return e.message() + e.hint().map(hint -> " (" + hint + ")").orElse("");
  }

  static int status(ErrorCode code) {
    if (code == ErrorCode.IMAGE_NOT_FOUND) {
      return 404;
    }
    return switch (code.kind()) { // no default: a new kind must not compile until it is mapped
      case CALLER -> 400;
      case IDENTITY -> 401;
      case PERMISSION -> 403;
      case ABSENT, GONE -> 404;
      case CONFLICT, PRECONDITION -> 409;
      case RANGE -> 416;
      case SIZE -> 413;
      case STORAGE -> 507;
      case LIMIT -> 429;
      case APP, ENGINE -> 502;
      case UNAVAILABLE -> 503;
      case BUG -> 500;
    };
  }

  /** Connect's word for it. */
  static String word(ErrorCode code) {
    return switch (code) {
      case FILE_EXISTS -> "already_exists";
      case PERMISSION_DENIED -> "permission_denied";
      default ->
          switch (code.kind()) {
            case CALLER, RANGE, SIZE -> "invalid_argument";
            case IDENTITY -> "unauthenticated";
            case PERMISSION -> "permission_denied";
            case ABSENT -> "not_found";
            case CONFLICT, PRECONDITION -> "failed_precondition";
            case STORAGE, LIMIT -> "resource_exhausted";
            case GONE, APP, ENGINE, UNAVAILABLE -> "unavailable";
            case BUG -> "internal";
          };
    };
  }

  /** The status that goes with a word where there is no stream. */
  static int statusOf(String word) {
    return switch (word) {
      case "invalid_argument", "failed_precondition" -> 400;
      case "unauthenticated" -> 401;
      case "permission_denied" -> 403;
      case "not_found" -> 404;
      case "already_exists" -> 409;
      case "resource_exhausted" -> 429;
      case "unimplemented" -> 501;
      case "unavailable" -> 503;
      case "deadline_exceeded" -> 504;
      default -> 500;
    };
  }
}
