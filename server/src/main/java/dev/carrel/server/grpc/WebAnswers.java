package dev.carrel.server.grpc;

import com.google.protobuf.Message;
import dev.carrel.server.http.Exchange;
import io.helidon.http.HeaderNames;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import org.jspecify.annotations.Nullable;

/** Messages and, as the last one, trailers to one client. For one thread. */
final class WebAnswers {
  private static final int PREFIX = 5;
  private static final int MESSAGE = 0;
  private static final int TRAILERS = 0x80;
  private static final String TEXT = "application/grpc-web-text";

  private final Exchange exchange;
  private final boolean text;
  private final @Nullable ByteArrayOutputStream whole;
  private @Nullable OutputStream live;

  /**
   * @param once whether everything is sent together
   */
  WebAnswers(Exchange exchange, boolean once) {
    this.exchange = exchange;
    this.text = isText(exchange);
    this.whole = once ? new ByteArrayOutputStream() : null;
  }

  static boolean isText(Exchange exchange) {
    return exchange.hasContentType(TEXT);
  }

  void send(Message message) throws IOException {
    write(MESSAGE, message.toByteArray());
  }

  /** Without this the client takes the answer for a broken one. */
  void end(Failures.End end) throws IOException {
    var trailers = new StringBuilder("grpc-status: " + end.status().getCode().value() + "\r\n");
    String words = end.status().getDescription();
    if (words != null) {
      trailers.append("grpc-message: ").append(encoded(words)).append("\r\n");
    }
    String code = end.trailers().get(Failures.CODE);
    if (code != null) {
      trailers.append("carrel-code: ").append(code).append("\r\n");
    }
    write(TRAILERS, trailers.toString().getBytes(StandardCharsets.US_ASCII));
    if (whole != null) {
      header();
      exchange.bytes(200, whole.toByteArray());
    } else if (live != null) {
      live.close();
    }
  }

  private void write(int flags, byte[] content) throws IOException {
    byte[] frame =
        ByteBuffer.allocate(PREFIX + content.length)
            .put((byte) flags)
            .putInt(content.length)
            .put(content)
            .array();
    byte[] sent = text ? Base64.getEncoder().encode(frame) : frame;
    if (whole != null) {
      whole.write(sent);
      return;
    }
    if (live == null) {
      header();
      live = exchange.live(200);
    }
    live.write(sent);
    live.flush();
  }

  private void header() {
    exchange.header(
        HeaderNames.CONTENT_TYPE, text ? TEXT + "+proto" : "application/grpc-web+proto");
  }

  /** As gRPC writes messages of statuses: percent signs and what is not plain ASCII. */
  private static String encoded(String words) {
    var encoded = new StringBuilder();
    for (byte b : words.getBytes(StandardCharsets.UTF_8)) {
      if (b >= ' ' && b <= '~' && b != '%') {
        encoded.append((char) b);
      } else {
        encoded.append('%').append("%02X".formatted(b));
      }
    }
    return encoded.toString();
  }
}
