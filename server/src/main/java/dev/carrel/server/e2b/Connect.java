package dev.carrel.server.e2b;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.google.protobuf.util.JsonFormat;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.server.http.Exchange;
import dev.carrel.server.http.Failure;
import dev.carrel.server.http.HttpProblem;
import dev.carrel.server.http.Route.Handler;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import io.helidon.http.HeaderName;
import io.helidon.http.HeaderNames;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The Connect protocol over HTTP/1.1, with JSON or binary messages. */
final class Connect {
  private static final HeaderName TIMEOUT = HeaderNames.create("Connect-Timeout-Ms");
  private static final HeaderName PING = HeaderNames.create("Keepalive-Ping-Interval");
  private static final JsonFormat.Parser PARSER = JsonFormat.parser().ignoringUnknownFields();
  private static final JsonFormat.Printer PRINTER =
      JsonFormat.printer().omittingInsignificantWhitespace();
  private static final int MAX_MESSAGE = 4 << 20;
  private static final int COMPRESSED = 1;
  private static final int LAST = 2;
  private static final Duration QUIET = Duration.ofSeconds(90);

  private final DataPlane plane;

  Connect(DataPlane plane) {
    this.plane = plane;
  }

  /** One question with one answer. */
  interface Unary<Q extends Message> {
    Message call(Call call, Q request) throws InterruptedException;
  }

  /** One question with many answers. */
  interface Streaming<Q extends Message> {
    void call(Call call, Q request, Frames answers) throws IOException, InterruptedException;
  }

  /** Many questions with one answer. */
  interface Collecting<Q extends Message> {
    Message call(Call call, Requests<Q> requests) throws IOException, InterruptedException;
  }

  /** Gives the next message; null at the end. */
  interface Requests<Q extends Message> {
    @Nullable Q next() throws IOException;
  }

  /**
   * Who calls, and for which sandbox.
   *
   * @param quiet how long a stream may be silent before the client wants a sign of life
   */
  record Call(Exchange exchange, Caller caller, SandboxId sandbox, Duration quiet) {
    /** What the client gives it; empty: all the time in the world. */
    Optional<Duration> timeout() {
      return exchange
          .header(TIMEOUT)
          .map(text -> number("Connect-Timeout-Ms", text))
          .filter(millis -> millis > 0)
          .map(Duration::ofMillis);
    }
  }

  <Q extends Message> Handler unary(Q prototype, Unary<Q> method) {
    return exchange -> {
      Codec codec = Codec.ofUnary(exchange);
      try {
        Call call = admit(exchange);
        Q request = codec.parse(prototype, exchange.content());
        exchange.cancelWhenClientLeaves();
        Message answer = method.call(call, request);
        exchange.header(HeaderNames.CONTENT_TYPE, codec.unary);
        exchange.bytes(200, codec.bytes(answer));
      } catch (SandboxAway e) {
        Wire.json(exchange, 502, e.body());
      } catch (SandboxException e) {
        if (e.code().kind() == ErrorCode.Kind.BUG) {
          throw e;
        }
        Failure.note(exchange, e);
        String word = Failures.word(e.code());
        Wire.json(exchange, Failures.statusOf(word), new Problem(word, Failures.message(e)));
      } catch (HttpProblem e) {
        Failure.note(exchange, e);
        Wire.json(exchange, 400, new Problem("invalid_argument", e.detail()));
      }
    };
  }

  <Q extends Message> Handler streaming(Q prototype, Streaming<Q> method) {
    return streamed(
        prototype,
        (call, requests, frames) -> {
          Q request = requests.next();
          if (request == null) {
            throw SandboxException.invalid("body", "must hold one message");
          }
          method.call(call, request, frames);
        });
  }

  <Q extends Message> Handler collecting(Q prototype, Collecting<Q> method) {
    return streamed(
        prototype, (call, requests, frames) -> frames.send(method.call(call, requests)));
  }

  private interface Body<Q extends Message> {
    void run(Call call, Requests<Q> requests, Frames frames)
        throws IOException, InterruptedException;
  }

  private <Q extends Message> Handler streamed(Q prototype, Body<Q> body) {
    return exchange -> {
      Codec codec = Codec.ofStream(exchange);
      var frames = new Frames(exchange, codec);
      try {
        Call call = admit(exchange);
        body.run(call, requests(prototype, codec, exchange.body()), frames);
        frames.end(null);
      } catch (SandboxAway e) {
        if (exchange.answered()) {
          throw exchange.hangUp();
        }
        Wire.json(exchange, 502, e.body());
      } catch (SandboxException e) {
        if (e.code() == ErrorCode.UNAUTHENTICATED && !exchange.answered()) {
          Wire.json(exchange, 401, new Problem("unauthenticated", Failures.message(e)));
        } else if (e.code().kind() == ErrorCode.Kind.BUG) {
          throw e;
        } else {
          Failure.log(exchange, e);
          frames.end(new Problem(Failures.word(e.code()), Failures.message(e)));
        }
      } catch (Refusal e) {
        frames.end(e.problem);
      } catch (HttpProblem e) {
        frames.end(new Problem("invalid_argument", e.detail()));
      }
    };
  }

  private static <Q extends Message> Requests<Q> requests(
      Q prototype, Codec codec, InputStream body) {
    var in = new DataInputStream(body);
    return () -> {
      int flags = in.read();
      if (flags < 0) {
        return null;
      }
      if ((flags & LAST) != 0) {
        return null;
      }
      if ((flags & COMPRESSED) != 0) {
        throw SandboxException.invalid("body", "compression was not agreed on");
      }
      try {
        int length = in.readInt();
        if (length < 0 || length > MAX_MESSAGE) {
          throw HttpProblem.tooLarge("message", MAX_MESSAGE);
        }
        byte[] message = new byte[length];
        in.readFully(message);
        return codec.parse(prototype, message);
      } catch (EOFException e) {
        throw HttpProblem.unreadable("body", "ends within a message");
      }
    };
  }

  private Call admit(Exchange exchange) {
    Place place = plane.place(exchange).orElseThrow(() -> SandboxAway.notRunning(""));
    Caller caller = plane.admit(exchange, place.sandbox());
    Duration quiet =
        exchange
            .header(PING)
            .map(
                text ->
                    Duration.ofSeconds(
                        Math.clamp(number("Keepalive-Ping-Interval", text), 1, 3600)))
            .orElse(QUIET);
    return new Call(exchange, caller, place.sandbox(), quiet);
  }

  private static long number(String header, String text) {
    try {
      return Long.parseLong(text.strip());
    } catch (NumberFormatException e) {
      throw SandboxException.invalid(header, "must be a whole number");
    }
  }

  /** Why a call ended without what it was asked for. */
  record Problem(String code, String message) {}

  /** Ends a stream with a word that no error of ours has. */
  static final class Refusal extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final transient Problem problem;

    Refusal(String word, String message) {
      super(message, null, false, false);
      this.problem = new Problem(word, message);
    }
  }

  /** How messages are written. */
  enum Codec {
    JSON("application/json", "application/connect+json"),
    BINARY("application/proto", "application/connect+proto");

    private final String unary;
    private final String stream;

    Codec(String unary, String stream) {
      this.unary = unary;
      this.stream = stream;
    }

    String stream() {
      return stream;
    }

    static Codec ofUnary(Exchange exchange) {
      return exchange.hasContentType(BINARY.unary) ? BINARY : JSON;
    }

    static Codec ofStream(Exchange exchange) {
      return exchange.hasContentType(BINARY.stream) ? BINARY : JSON;
    }

    byte[] bytes(Message message) {
      if (this == BINARY) {
        return message.toByteArray();
      }
      try {
        return PRINTER.print(message).getBytes(StandardCharsets.UTF_8);
      } catch (InvalidProtocolBufferException e) {
        throw new IllegalStateException("a message of our own cannot be written", e);
      }
    }

    @SuppressWarnings("unchecked") // a builder makes what its message is
    <Q extends Message> Q parse(Q prototype, byte[] bytes) {
      try {
        Message.Builder builder = prototype.newBuilderForType();
        if (this == BINARY) {
          builder.mergeFrom(bytes);
        } else if (bytes.length > 0) {
          PARSER.merge(new String(bytes, StandardCharsets.UTF_8), builder);
        }
        return (Q) builder.build();
      } catch (InvalidProtocolBufferException e) {
        throw HttpProblem.unreadable("body", "is not a message of this call: " + e.getMessage());
      }
    }
  }
}
