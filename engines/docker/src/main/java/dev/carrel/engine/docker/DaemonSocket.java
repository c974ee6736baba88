package dev.carrel.engine.docker;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/**
 * HTTP to a daemon's Unix socket, a connection for each request. Version 1.0 of it: then the body
 * of an answer is what comes until the daemon hangs up, and nothing is in chunks.
 */
record DaemonSocket(Path path) {
  private static final int MAX_HEAD = 64 << 10;
  private static final int MAX_BODY = 8 << 20;

  /** An answer whose body may go on. */
  record Stream(int status, SocketChannel channel, InputStream body) implements AutoCloseable {
    @Override
    public void close() throws IOException {
      channel.close();
    }
  }

  /**
   * Hangs up when the time is over. A blocking channel knows no timeout; closing it ends whoever
   * waits on it.
   */
  static final class Deadline implements AutoCloseable {
    private final CompletableFuture<Boolean> over = new CompletableFuture<>();

    Deadline(SocketChannel channel, Duration most) {
      var _ =
          over.completeOnTimeout(true, most.toMillis(), TimeUnit.MILLISECONDS)
              .thenAccept(_ -> hangUp(channel));
    }

    boolean isOver() {
      return over.isDone() && !over.isCancelled();
    }

    @Override
    public void close() {
      over.cancel(false);
    }

    private static void hangUp(SocketChannel channel) {
      try {
        channel.close();
      } catch (IOException e) {
        throw new IllegalStateException(e); // closing a socket has nothing to lose
      }
    }
  }

  /** An answer that is whole. */
  static final class Reply {
    private final int status;
    private final byte[] body;

    private Reply(int status, byte[] body) {
      this.status = status;
      this.body = body;
    }

    int status() {
      return status;
    }

    byte[] body() {
      return body.clone();
    }
  }

  /**
   * @param target with the version of the interface and the query, already encoded
   * @param most after which the daemon is given up
   */
  Reply send(String method, String target, String type, byte[] body, Duration most)
      throws IOException {
    try (SocketChannel channel = connect()) {
      var deadline = new Deadline(channel, most);
      try (deadline;
          Stream stream = exchange(channel, method, target, type, body)) {
        byte[] answer = stream.body().readNBytes(MAX_BODY + 1);
        if (answer.length > MAX_BODY) {
          throw new IOException("the daemon answers with more than " + MAX_BODY + " bytes");
        }
        return new Reply(stream.status(), answer);
      } catch (IOException e) {
        throw deadline.isOver() ? silent(most, e) : e;
      }
    }
  }

  /**
   * An answer without an end, or a long one; closing it ends it.
   *
   * @param most in which it must begin
   */
  Stream open(String method, String target, Duration most) throws IOException {
    SocketChannel channel = connect();
    var deadline = new Deadline(channel, most);
    try (deadline) {
      return exchange(channel, method, target, "application/json", new byte[0]);
    } catch (IOException | RuntimeException e) {
      channel.close();
      if (deadline.isOver()) {
        throw silent(most, e);
      }
      throw e;
    }
  }

  private static IOException silent(Duration most, Exception cause) {
    return new IOException("the daemon gave no answer in " + most.toSeconds() + " s", cause);
  }

  private SocketChannel connect() throws IOException {
    return SocketChannel.open(UnixDomainSocketAddress.of(path));
  }

  private static Stream exchange(
      SocketChannel channel, String method, String target, String type, byte[] body)
      throws IOException {
    String head =
        "%s %s HTTP/1.0\r\nHost: docker\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n"
            .formatted(method, target, type, body.length);
    write(channel, head.getBytes(StandardCharsets.US_ASCII));
    write(channel, body);
    InputStream in = new BufferedInputStream(Channels.newInputStream(channel));
    int status = status(line(in));
    int bytes = 0;
    for (String header = line(in); !header.isEmpty(); header = line(in)) {
      bytes += header.length();
      if (bytes > MAX_HEAD) {
        throw new IOException("the daemon answers with too many headers");
      }
    }
    return new Stream(status, channel, in);
  }

  private static void write(SocketChannel channel, byte[] bytes) throws IOException {
    ByteBuffer rest = ByteBuffer.wrap(bytes);
    while (rest.hasRemaining()) {
      channel.write(rest);
    }
  }

  private static int status(String line) throws IOException {
    String[] words = line.split(" ", 3);
    if (words.length < 2 || !words[0].startsWith("HTTP/1.") || !words[1].matches("[1-5]\\d\\d")) {
      throw new IOException("what listens there does not speak HTTP");
    }
    return Integer.parseInt(words[1]);
  }

  private static String line(InputStream in) throws IOException {
    var text = new StringBuilder();
    for (int c = in.read(); c != '\n'; c = in.read()) {
      if (c < 0) {
        throw new IOException("the daemon hung up before it answered");
      }
      if (text.length() > MAX_HEAD) {
        throw new IOException("the daemon answers with too long a line");
      }
      text.append((char) c);
    }
    return text.toString().strip();
  }
}
