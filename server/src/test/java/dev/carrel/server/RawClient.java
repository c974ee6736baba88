package dev.carrel.server;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;

/** A client that sends exactly what it is told. */
public final class RawClient implements AutoCloseable {
  private static final int PATIENCE_MILLIS = 60_000;

  private final Socket socket;

  public RawClient(int port) throws IOException {
    socket = new Socket(InetAddress.getLoopbackAddress(), port);
    socket.setSoTimeout(PATIENCE_MILLIS);
  }

  public void send(String text) throws IOException {
    socket.getOutputStream().write(text.getBytes(StandardCharsets.ISO_8859_1));
    socket.getOutputStream().flush();
  }

  /** Sends until the server has had enough: it may answer and close before it has read all. */
  public void sendAsFarAsItGoes(String text) throws IOException {
    try {
      send(text);
    } catch (SocketException e) {
      // Its answer can still be read.
      return;
    }
  }

  /** Everything up to the empty line. */
  public String readHead() throws IOException {
    return readUntil("\r\n\r\n");
  }

  /** Everything up to the first of these words, or the end. */
  public String readUntil(String words) throws IOException {
    var text = new StringBuilder();
    for (int c; (c = socket.getInputStream().read()) >= 0; ) {
      text.append((char) c);
      if (text.length() >= words.length()
          && text.substring(text.length() - words.length()).equals(words)) {
        break;
      }
    }
    return text.toString();
  }

  public String read(int count) throws IOException {
    return new String(socket.getInputStream().readNBytes(count), StandardCharsets.ISO_8859_1);
  }

  /** Everything until the server closes the connection. */
  public String readAll() throws IOException {
    var all = new ByteArrayOutputStream();
    try {
      socket.getInputStream().transferTo(all);
    } catch (SocketException e) {
      // A reset after the answer is an end as good as any.
      return all.toString(StandardCharsets.ISO_8859_1);
    }
    return all.toString(StandardCharsets.ISO_8859_1);
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
