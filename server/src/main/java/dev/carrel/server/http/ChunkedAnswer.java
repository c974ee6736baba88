package dev.carrel.server.http;

import io.helidon.http.Header;
import io.helidon.http.ServerResponseHeaders;
import io.helidon.http.Status;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;

/**
 * An answer of unknown length whose head goes out before there is anything to say: Helidon waits
 * for the first bytes. Each write is a chunk, sent at once; closing it says that the answer is
 * whole.
 */
final class ChunkedAnswer extends OutputStream {
  private static final byte[] END = "0\r\n\r\n".getBytes(StandardCharsets.US_ASCII);

  private final RawOutput out;
  private final boolean chunked;

  /**
   * @param chunked whether the client knows chunks; else the end of the connection is the end
   */
  ChunkedAnswer(RawOutput out, Status status, ServerResponseHeaders headers, boolean chunked) {
    this.out = out;
    this.chunked = chunked;
    var head = new StringBuilder("HTTP/1.1 ").append(status.code()).append(' ');
    head.append(status.reasonPhrase()).append("\r\n");
    for (Header header : headers) {
      header.allValues().forEach(value -> head.append(header.name() + ": " + value).append("\r\n"));
    }
    head.append(chunked ? "Transfer-Encoding: chunked\r\n" : "")
        .append("Connection: close\r\n\r\n");
    out.write(head.toString().getBytes(StandardCharsets.ISO_8859_1));
  }

  @Override
  public void write(int one) throws IOException {
    write(new byte[] {(byte) one}, 0, 1);
  }

  @Override
  public void write(byte[] bytes, int offset, int length) throws IOException {
    if (length == 0) {
      return;
    }
    if (!chunked) {
      out.write(bytes, offset, length);
      return;
    }
    byte[] size = (Integer.toHexString(length) + "\r\n").getBytes(StandardCharsets.US_ASCII);
    byte[] chunk = new byte[size.length + length + 2];
    System.arraycopy(size, 0, chunk, 0, size.length);
    System.arraycopy(bytes, offset, chunk, size.length, length);
    chunk[chunk.length - 2] = '\r';
    chunk[chunk.length - 1] = '\n';
    out.write(chunk);
  }

  @Override
  public void close() {
    if (chunked) {
      out.write(END);
    }
  }
}
