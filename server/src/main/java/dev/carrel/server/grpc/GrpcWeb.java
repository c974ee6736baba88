package dev.carrel.server.grpc;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import dev.carrel.server.http.Exchange;
import dev.carrel.server.http.HttpProblem;
import dev.carrel.server.http.Router;
import dev.carrel.spi.DataSize;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Base64;
import java.util.List;

/**
 * gRPC-Web on the main port, binary and text: the same methods for clients that have only HTTP/1.1.
 * Who may call is seen to as for every other route. Methods with many questions are not offered:
 * the protocol has no way to send them.
 */
final class GrpcWeb {
  private static final int PREFIX = 5;
  private static final int COMPRESSED = 1;
  private static final String PROTOCOL = "application/grpc-web";

  private final int maxMessage;
  private final CallLog log;
  private final Failures failures = new Failures();

  GrpcWeb(DataSize maxMessage, CallLog log) {
    this.maxMessage = Math.toIntExact(maxMessage.bytes());
    this.log = log;
  }

  void addTo(Router router, List<Service> services) {
    for (Service service : services) {
      for (Method<?, ?> method : service.methods()) {
        if (method.shape() != Method.Shape.BOTH) {
          String path = service.path(method);
          router.post("/" + path, exchange -> serve(exchange, path, method));
        }
      }
    }
  }

  private <Q extends Message, A extends Message> void serve(
      Exchange exchange, String path, Method<Q, A> method)
      throws IOException, InterruptedException {
    if (!exchange.hasContentType(PROTOCOL)) {
      throw HttpProblem.unreadable("Content-Type", "must be " + PROTOCOL + " or a kind of it");
    }
    long begun = System.nanoTime();
    var answers = new WebAnswers(exchange, method.shape() == Method.Shape.UNARY);
    Failures.End end = call(exchange, path, method, answers);
    log.record(path, end.status().getCode(), System.nanoTime() - begun, exchange.caller());
    answers.end(end);
  }

  private <Q extends Message, A extends Message> Failures.End call(
      Exchange exchange, String path, Method<Q, A> method, WebAnswers answers)
      throws IOException, InterruptedException {
    try {
      Q question = question(exchange, method.question());
      exchange.cancelWhenClientLeaves();
      try (var call = new WebCall<Q, A>(exchange, question, answers)) {
        try {
          method.handler().serve(call);
          return Failures.End.ok();
        } catch (InterruptedException e) {
          if (call.late()) {
            return Failures.late();
          }
          throw e;
        }
      }
    } catch (SandboxException e) {
      return failures.of(path, e);
    }
  }

  @SuppressWarnings("unchecked") // a parser makes what its message is
  private <Q extends Message> Q question(Exchange exchange, Q prototype) throws IOException {
    ByteBuffer body = ByteBuffer.wrap(body(exchange));
    if (body.remaining() < PREFIX) {
      throw SandboxException.invalid("body", "must hold one message");
    }
    int flags = body.get();
    int length = body.getInt();
    if (flags == COMPRESSED) {
      throw new SandboxException(ErrorCode.NOT_SUPPORTED, "messages are not compressed here");
    }
    if (flags != 0 || length < 0 || length != body.remaining()) {
      throw SandboxException.invalid("body", "must hold one message, and that alone");
    }
    try {
      return (Q) prototype.getParserForType().parseFrom(body);
    } catch (InvalidProtocolBufferException e) {
      throw SandboxException.invalid("body", "is not a message of this method: " + e.getMessage());
    }
  }

  private byte[] body(Exchange exchange) throws IOException {
    boolean text = WebAnswers.isText(exchange);
    int most = PREFIX + maxMessage;
    int limit = text ? Math.ceilDiv(most, 3) * 4 : most;
    byte[] body = exchange.body().readNBytes(limit + 1);
    if (body.length > limit) {
      throw new SandboxException(
          ErrorCode.TOO_LARGE, "a message has at most " + maxMessage + " bytes");
    }
    try {
      return text ? Base64.getDecoder().decode(body) : body;
    } catch (IllegalArgumentException e) {
      throw SandboxException.invalid("body", "is not base64");
    }
  }
}
