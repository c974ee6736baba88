package dev.carrel.server.e2b;

import com.google.protobuf.Message;
import dev.carrel.server.http.Exchange;
import io.helidon.http.HeaderNames;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/** A stream of messages to one client, each sent at once. For one thread. */
final class Frames {
  private static final int MESSAGE = 0;
  private static final int END = 2;
  private static final int PREFIX = 5;

  private final Exchange exchange;
  private final Connect.Codec codec;
  private @Nullable OutputStream out;

  Frames(Exchange exchange, Connect.Codec codec) {
    this.exchange = exchange;
    this.codec = codec;
  }

  void send(Message message) throws IOException {
    write(MESSAGE, codec.bytes(message));
  }

  /**
   * Without this the client takes the stream for a broken one.
   *
   * @param problem null: all went well
   */
  void end(Connect.@Nullable Problem problem) throws IOException {
    write(END, Wire.bytes(new End(problem)));
    if (out != null) {
      out.close();
    }
  }

  private void write(int flags, byte[] content) throws IOException {
    if (out == null) {
      exchange.header(HeaderNames.CONTENT_TYPE, codec.stream());
      out = exchange.live(200);
    }
    byte[] frame =
        ByteBuffer.allocate(PREFIX + content.length)
            .put((byte) flags)
            .putInt(content.length)
            .put(content)
            .array();
    out.write(frame);
    out.flush();
  }

  private record End(Connect.@Nullable Problem error) {}
}
