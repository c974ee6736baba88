package dev.carrel.server.flat;

import com.fasterxml.jackson.annotation.JsonInclude;
import dev.carrel.server.http.HttpProblem;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import org.jspecify.annotations.Nullable;

/**
 * Every answer of the flat API.
 *
 * @param code zero: it went well
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
record Envelope(int code, @Nullable String message, @Nullable Object data) {
  static Envelope of(Object data) {
    return new Envelope(0, null, data);
  }

  static Envelope done() {
    return new Envelope(0, "success", null);
  }

  static Envelope of(HttpProblem problem) {
    return problem.status() == 400
        ? new Envelope(400, "invalid request: " + problem.detail(), null)
        : new Envelope(problem.status(), problem.detail(), null);
  }

  static Envelope of(SandboxException e) {
    if (e.code() == ErrorCode.INVALID_INPUT) {
      return new Envelope(400, "invalid request: " + e.message(), null);
    }
    int code =
        switch (e.code().kind()) {
          case IDENTITY -> 401;
          case PERMISSION -> 403;
          case LIMIT -> 429;
          case UNAVAILABLE -> 503;
          case CALLER,
              ABSENT,
              CONFLICT,
              PRECONDITION,
              RANGE,
              SIZE,
              STORAGE,
              GONE,
              ENGINE,
              APP,
              BUG ->
              500;
        };
    return new Envelope(code, told(e), null);
  }

  /** What went wrong, and what helps. */
  static String told(SandboxException e) {
    return e.message() + e.hint().map(hint -> "; " + hint).orElse("");
  }

  static Envelope unauthenticated(String message) {
    return new Envelope(401, message, null);
  }
}
