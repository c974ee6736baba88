package dev.carrel.server.http;

import dev.carrel.spi.ErrorCode;
import org.jspecify.annotations.Nullable;

/** A request that HTTP itself refuses, before or beside anything that control could say. */
public final class HttpProblem extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final int status;
  private final String code;
  private final @Nullable String field;
  private final @Nullable String hint;
  private final @Nullable String headerName;
  private final @Nullable String headerValue;

  private HttpProblem(
      int status,
      String code,
      String detail,
      @Nullable String field,
      @Nullable String hint,
      @Nullable String headerName,
      @Nullable String headerValue) {
    // Made for every bad request: its stack is of no interest and would only cost.
    super(detail, null, false, false);
    this.status = status;
    this.code = code;
    this.field = field;
    this.hint = hint;
    this.headerName = headerName;
    this.headerValue = headerValue;
  }

  /** 400: the request cannot be read at all. */
  public static HttpProblem unreadable(String field, String why) {
    return new HttpProblem(
        400, ErrorCode.INVALID_INPUT.wireName(), field + ": " + why, field, null, null, null);
  }

  static HttpProblem of(int status, ErrorCode code, String detail) {
    return new HttpProblem(status, code.wireName(), detail, null, null, null, null);
  }

  static HttpProblem notFound(String path) {
    return new HttpProblem(
        404,
        "not_found",
        "there is nothing at " + path,
        null,
        "see /docs for what there is",
        null,
        null);
  }

  static HttpProblem methodNotAllowed(String method, String allow) {
    return new HttpProblem(
        405,
        "method_not_allowed",
        method + " is not allowed here; " + allow + " is",
        null,
        null,
        "Allow",
        allow);
  }

  /** 401. */
  public static HttpProblem unauthenticated(String detail) {
    return new HttpProblem(
        401,
        ErrorCode.UNAUTHENTICATED.wireName(),
        detail,
        null,
        "send 'Authorization: Bearer TOKEN'; the token is in the server's token file",
        "WWW-Authenticate",
        "Bearer realm=\"carrel\"");
  }

  static HttpProblem foreign(String header, String hint) {
    return new HttpProblem(
        403,
        ErrorCode.FORBIDDEN.wireName(),
        "the " + header + " header names another site",
        header,
        hint,
        null,
        null);
  }

  /** 413, with the limit. */
  public static HttpProblem tooLarge(String what, long limit) {
    return new HttpProblem(
        413,
        ErrorCode.TOO_LARGE.wireName(),
        what + " is over the limit of " + limit + " bytes",
        what,
        null,
        null,
        null);
  }

  /** 412 for another version of tus, which wants to know the versions there are. */
  public static HttpProblem otherTus(String version) {
    return new HttpProblem(
        412,
        ErrorCode.PRECONDITION_FAILED.wireName(),
        "this server speaks tus " + version + " only",
        "Tus-Resumable",
        "send 'Tus-Resumable: " + version + "'",
        "Tus-Version",
        version);
  }

  /** 416, with the size that a range must be within. */
  public static HttpProblem rangeNotSatisfiable(long size) {
    return new HttpProblem(
        416,
        ErrorCode.RANGE_NOT_SATISFIABLE.wireName(),
        "no byte of the range is within the file's " + size + " bytes",
        "Range",
        null,
        "Content-Range",
        "bytes */" + size);
  }

  /** 423: somebody else is at it, and it is to be asked for again. */
  public static HttpProblem locked(String detail) {
    return new HttpProblem(
        423,
        ErrorCode.WRONG_STATE.wireName(),
        detail,
        null,
        "ask again in a moment",
        "Retry-After",
        "1");
  }

  /** The status that goes with an error. */
  public static int status(ErrorCode code) {
    return Problem.status(code.kind());
  }

  public int status() {
    return status;
  }

  String code() {
    return code;
  }

  /** What is wrong, for who asked. */
  public String detail() {
    return String.valueOf(getMessage());
  }

  @Nullable String field() {
    return field;
  }

  @Nullable String hint() {
    return hint;
  }

  @Nullable String headerName() {
    return headerName;
  }

  @Nullable String headerValue() {
    return headerValue;
  }
}
