package dev.carrel.server.grpc;

import dev.carrel.server.http.Failure;
import dev.carrel.server.http.RequestIds;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import io.grpc.Metadata;
import io.grpc.Status;

/** How a failure becomes a status: gRPC's code by the kind, ours as the trailer carrel-code. */
final class Failures {
  static final Metadata.Key<String> CODE =
      Metadata.Key.of("carrel-code", Metadata.ASCII_STRING_MARSHALLER);

  private final RequestIds ids = new RequestIds();

  /** What a client is told at the end. */
  record End(Status status, Metadata trailers) {
    static End ok() {
      return new End(Status.OK, new Metadata());
    }
  }

  End of(String method, Exception e) {
    if (e instanceof SandboxException sandbox && sandbox.code().kind() != ErrorCode.Kind.BUG) {
      Failure.log(method, e);
      return end(status(sandbox.code().kind()).withDescription(text(sandbox)), sandbox.code());
    }
    String id = ids.next();
    Failure.log(method + " as " + id, e);
    return end(
        Status.INTERNAL.withDescription("the server failed; its log has the reason under " + id),
        ErrorCode.INTERNAL);
  }

  static End stopping() {
    return end(
        Status.UNAVAILABLE.withDescription("the server is shutting down"), ErrorCode.SHUTTING_DOWN);
  }

  /** The time that the client gave it has passed. */
  static End late() {
    return new End(
        Status.DEADLINE_EXCEEDED.withDescription("the deadline has passed"), new Metadata());
  }

  static End unauthenticated(String why) {
    return end(Status.UNAUTHENTICATED.withDescription(why), ErrorCode.UNAUTHENTICATED);
  }

  static End busy(int max) {
    return end(
        Status.RESOURCE_EXHAUSTED.withDescription(
            "the server has %d calls under way, the most it may have".formatted(max)),
        ErrorCode.LIMIT_REACHED);
  }

  /** What it says, and what to do about it. */
  static String text(SandboxException e) {
    return e.message() + e.hint().map(hint -> " (" + hint + ")").orElse("");
  }

  private static End end(Status status, ErrorCode code) {
    var trailers = new Metadata();
    trailers.put(CODE, code.wireName());
    return new End(status, trailers);
  }

  private static Status status(ErrorCode.Kind kind) {
    return switch (kind) { // no default: a new kind must not compile until it is mapped
      case CALLER -> Status.INVALID_ARGUMENT;
      case IDENTITY -> Status.UNAUTHENTICATED;
      case PERMISSION -> Status.PERMISSION_DENIED;
      case ABSENT -> Status.NOT_FOUND;
      case CONFLICT, PRECONDITION, GONE, APP -> Status.FAILED_PRECONDITION;
      case RANGE -> Status.OUT_OF_RANGE;
      case SIZE, STORAGE, LIMIT -> Status.RESOURCE_EXHAUSTED;
      // Not UNAVAILABLE: clients would take it for harmless and do it again.
      case ENGINE, BUG -> Status.INTERNAL;
      case UNAVAILABLE -> Status.UNAVAILABLE;
    };
  }
}
