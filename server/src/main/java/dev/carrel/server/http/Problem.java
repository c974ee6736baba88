package dev.carrel.server.http;

import com.fasterxml.jackson.annotation.JsonInclude;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** An error as it stands on the wire (RFC 9457). The one place that maps errors to HTTP. */
@JsonInclude(JsonInclude.Include.NON_NULL)
record Problem(
    String type,
    String title,
    int status,
    String detail,
    String code,
    @Nullable String field,
    @Nullable String hint,
    @Nullable String cause,
    String requestId) {

  private static final Map<Integer, String> TITLES =
      Map.ofEntries(
          Map.entry(400, "Bad Request"),
          Map.entry(401, "Unauthorized"),
          Map.entry(403, "Forbidden"),
          Map.entry(404, "Not Found"),
          Map.entry(405, "Method Not Allowed"),
          Map.entry(409, "Conflict"),
          Map.entry(410, "Gone"),
          Map.entry(412, "Precondition Failed"),
          Map.entry(413, "Content Too Large"),
          Map.entry(416, "Range Not Satisfiable"),
          Map.entry(422, "Unprocessable Content"),
          Map.entry(429, "Too Many Requests"),
          Map.entry(500, "Internal Server Error"),
          Map.entry(501, "Not Implemented"),
          Map.entry(502, "Bad Gateway"),
          Map.entry(503, "Service Unavailable"),
          Map.entry(507, "Insufficient Storage"));

  static int status(ErrorCode.Kind kind) {
    return switch (kind) { // no default: a new kind must not compile until it is mapped
      case CALLER -> 422;
      case IDENTITY -> 401;
      case PERMISSION -> 403;
      case ABSENT -> 404;
      case CONFLICT -> 409;
      case PRECONDITION -> 412;
      case RANGE -> 416;
      case SIZE -> 413;
      case STORAGE -> 507;
      case LIMIT -> 429;
      case GONE -> 410;
      case APP, ENGINE -> 502;
      case UNAVAILABLE -> 503;
      case BUG -> 500;
    };
  }

  static Problem of(HttpProblem problem, String requestId) {
    return problem(
        problem.status(),
        problem.code(),
        problem.detail(),
        problem.field(),
        problem.hint(),
        null,
        requestId);
  }

  static Problem of(SandboxException e, @Nullable String cause, String requestId) {
    return problem(
        status(e.code().kind()),
        e.code().wireName(),
        e.message(),
        e.field().orElse(null),
        e.hint().orElse(null),
        cause,
        requestId);
  }

  /** What a caller is told of a bug: nothing but where to look for it. */
  static Problem internal(String requestId) {
    return problem(
        500,
        ErrorCode.INTERNAL.wireName(),
        "the server failed; its log has the reason under this request_id",
        null,
        null,
        null,
        requestId);
  }

  private static Problem problem(
      int status,
      String code,
      String detail,
      @Nullable String field,
      @Nullable String hint,
      @Nullable String cause,
      String requestId) {
    return new Problem(
        "urn:carrel:error:" + code,
        TITLES.getOrDefault(status, "Error"),
        status,
        detail,
        code,
        field,
        hint,
        cause,
        requestId);
  }
}
