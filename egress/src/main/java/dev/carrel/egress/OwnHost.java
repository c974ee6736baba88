package dev.carrel.egress;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ReadableByteChannel;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Answers plain requests of one sandbox for a host that is the proxy's own: the name is nobody's,
 * and nothing is resolved or dialled for it. Safe for many threads.
 */
public interface OwnHost {
  /** Its name; the first part of a path says who of those that serve there is meant. */
  String NAME = "packages.carrel.internal";

  /**
   * @param path what follows the first part, without a slash in front
   * @param accept what the client says it understands; empty: nothing
   */
  Reply get(String path, String accept) throws IOException, InterruptedException;

  /**
   * An answer.
   *
   * @param location where the client is to ask instead; null: nowhere
   * @param body closed by who sends it
   */
  record Reply(int status, String type, @Nullable String location, Body body) implements Closeable {
    public static Reply of(int status, String type, byte[] bytes) {
      return new Reply(status, type, null, Body.of(bytes));
    }

    /** The client is to ask there itself. */
    public static Reply elsewhere(String location) {
      return new Reply(302, "text/plain", location, Body.of(new byte[0]));
    }

    String head(boolean keeps) {
      var fields = new StringBuilder("HTTP/1.1 ").append(status).append(' ');
      fields.append(REASONS.getOrDefault(status, "Answered")).append("\r\n");
      fields.append("Content-Type: ").append(type).append("\r\n");
      if (location != null) {
        fields.append("Location: ").append(location).append("\r\n");
      }
      fields.append("Content-Length: ").append(body.length()).append("\r\n");
      return fields.append(keeps ? "\r\n" : "Connection: close\r\n\r\n").toString();
    }

    @Override
    public void close() throws IOException {
      body.channel().close();
    }
  }

  /** So many bytes, and where they are read from. */
  record Body(long length, ReadableByteChannel channel) {
    static Body of(byte[] bytes) {
      var left = ByteBuffer.wrap(bytes);
      return new Body(
          bytes.length,
          new ReadableByteChannel() {
            @Override
            public int read(ByteBuffer into) {
              if (!left.hasRemaining()) {
                return -1;
              }
              int count = Math.min(left.remaining(), into.remaining());
              into.put(left.slice(left.position(), count));
              left.position(left.position() + count);
              return count;
            }

            @Override
            public boolean isOpen() {
              return true;
            }

            @Override
            public void close() {}
          });
    }
  }

  Map<Integer, String> REASONS = Map.of(200, "OK", 302, "Found", 404, "Not Found");

  /** For a client that asks for nothing that there is. */
  static Reply notFound() {
    byte[] words = "there is nothing here\n".getBytes(StandardCharsets.US_ASCII);
    return Reply.of(404, "text/plain", words);
  }
}
