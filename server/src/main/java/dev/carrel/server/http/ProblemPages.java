package dev.carrel.server.http;

import dev.carrel.spi.ErrorCode;
import io.helidon.http.DirectHandler;
import io.helidon.http.HeaderNames;
import io.helidon.http.ServerResponseHeaders;
import io.helidon.http.Status;
import io.helidon.webserver.http.DirectHandlers;

/** Answers for requests that are so malformed that they never reach the dispatcher. */
public final class ProblemPages implements DirectHandler {
  private final RequestIds ids = new RequestIds();

  public static DirectHandlers handlers() {
    var pages = new ProblemPages();
    DirectHandlers.Builder builder = DirectHandlers.builder();
    for (EventType type : EventType.values()) {
      builder.addHandler(type, pages);
    }
    return builder.build();
  }

  @Override
  public TransportResponse handle(
      TransportRequest request,
      EventType eventType,
      Status defaultStatus,
      ServerResponseHeaders responseHeaders,
      String message) {
    String requestId = ids.next();
    int status = defaultStatus.code();
    Problem problem =
        status == 500
            ? Problem.internal(requestId)
            : Problem.of(
                HttpProblem.of(status, code(status), "the request is not valid HTTP"), requestId);
    return TransportResponse.builder()
        .status(Status.create(problem.status()))
        .headers(responseHeaders)
        .header(HeaderNames.CONTENT_TYPE, "application/problem+json")
        .header(HeaderNames.create("X-Request-Id"), requestId)
        .entity(Json.bytes(problem))
        .keepAlive(false)
        .build();
  }

  private static ErrorCode code(int status) {
    return status == 413 ? ErrorCode.TOO_LARGE : ErrorCode.INVALID_INPUT;
  }
}
