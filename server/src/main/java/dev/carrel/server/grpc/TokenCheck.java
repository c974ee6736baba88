package dev.carrel.server.grpc;

import dev.carrel.control.sandbox.Caller;
import dev.carrel.server.auth.Authenticator;
import dev.carrel.server.auth.Bearer;
import io.grpc.Context;
import io.grpc.Contexts;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import java.util.Optional;

/**
 * Lets in who brings a token, as metadata {@code authorization: Bearer …}. Nothing is open but the
 * one question whether the server lives; reflection is not.
 */
final class TokenCheck implements ServerInterceptor {
  static final Context.Key<Caller> CALLER = Context.key("caller");

  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);
  private static final String OPEN = "grpc.health.v1.Health/Check";

  private final Authenticator authenticator;

  TokenCheck(Authenticator authenticator) {
    this.authenticator = authenticator;
  }

  @Override
  public <Q, A> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
    if (call.getMethodDescriptor().getFullMethodName().equals(OPEN)) {
      return next.startCall(call, headers);
    }
    String value = headers.get(AUTHORIZATION);
    Optional<String> token = Optional.ofNullable(value).flatMap(Bearer::token);
    if (token.isEmpty()) {
      return refuse(call, "a bearer token is needed, as metadata 'authorization'");
    }
    Optional<Caller> caller = authenticator.authenticate(token.get());
    if (caller.isEmpty()) {
      return refuse(call, "the token is not valid");
    }
    return Contexts.interceptCall(
        Context.current().withValue(CALLER, caller.get()), call, headers, next);
  }

  private static <Q> ServerCall.Listener<Q> refuse(ServerCall<Q, ?> call, String why) {
    Failures.End end = Failures.unauthenticated(why);
    call.close(end.status(), end.trailers());
    return new ServerCall.Listener<>() {};
  }
}
