package dev.carrel.bench;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.Map;

/**
 * One kept-alive HTTP/1.1 connection that does nothing but what a measurement needs, so that the
 * client's own cost does not hide the server's.
 */
final class HttpConnection implements AutoCloseable {
  private final URI server;
  private Socket socket;
  private InputStream in;
  private OutputStream out;
  // The server closes after a request that took long: it had to watch whether the client is there.
  private boolean over;
  private final String host;
  private final String token;

  HttpConnection(URI server, String token) throws IOException {
    this.server = server;
    this.socket = open(server);
    this.in = new BufferedInputStream(socket.getInputStream(), 1 << 16);
    this.out = socket.getOutputStream();
    this.host = server.getHost() + ":" + server.getPort();
    this.token = token;
  }

  private static Socket open(URI server) throws IOException {
    var opened = new Socket(InetAddress.getByName(server.getHost()), server.getPort());
    opened.setTcpNoDelay(true);
    opened.setSoTimeout(120_000);
    return opened;
  }

  private void reopen() throws IOException {
    socket.close();
    socket = open(server);
    in = new BufferedInputStream(socket.getInputStream(), 1 << 16);
    out = socket.getOutputStream();
    over = false;
  }

  String get(String path) throws IOException {
    return call("GET", path, "", Map.of());
  }

  String post(String path, String json) throws IOException {
    return post(path, json, Map.of());
  }

  String post(String path, String json, Map<String, String> headers) throws IOException {
    return call("POST", path, json, headers);
  }

  void delete(String path) throws IOException {
    call("DELETE", path, "", Map.of());
  }

  /** Reads a body without keeping it and returns its length. */
  long drain(String path) throws IOException {
    send("GET", path, "", Map.of());
    Head head = readHead();
    head.requireSuccess(path, "");
    byte[] chunk = new byte[1 << 16];
    if (head.chunked) {
      long total = 0;
      for (long size = chunkSize(); size > 0; size = chunkSize()) {
        total += skip(size, chunk);
        readLine();
      }
      readLine();
      return total;
    }
    return skip(head.length, chunk);
  }

  private String call(String method, String path, String body, Map<String, String> headers)
      throws IOException {
    send(method, path, body, headers);
    Head head = readHead();
    String answer =
        new String(
            head.chunked ? chunks() : in.readNBytes((int) head.length), StandardCharsets.UTF_8);
    head.requireSuccess(path, answer);
    return answer;
  }

  private void send(String method, String path, String body, Map<String, String> headers)
      throws IOException {
    if (over) {
      reopen();
    }
    byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
    var further = new StringBuilder();
    headers.forEach(
        (name, value) -> further.append(name).append(": ").append(value).append("\r\n"));
    String head =
        method
            + " "
            + path
            + " HTTP/1.1\r\nHost: "
            + host
            + "\r\nAuthorization: Bearer "
            + token
            + (bytes.length > 0 ? "\r\nContent-Type: application/json" : "")
            + "\r\nContent-Length: "
            + bytes.length
            + "\r\n"
            + further
            + "\r\n";
    byte[] start = head.getBytes(StandardCharsets.ISO_8859_1);
    byte[] message = new byte[start.length + bytes.length];
    System.arraycopy(start, 0, message, 0, start.length);
    System.arraycopy(bytes, 0, message, start.length, bytes.length);
    out.write(message);
  }

  private record Head(int status, long length, boolean chunked) {
    void requireSuccess(String path, String answer) throws IOException {
      if (status < 200 || status > 299) {
        throw new IOException(path + " answered " + status + " " + answer);
      }
    }
  }

  private Head readHead() throws IOException {
    String statusLine = readLine();
    int status = Integer.parseInt(statusLine.split(" ", 3)[1]);
    long length = 0;
    boolean chunked = false;
    for (String line = readLine(); !line.isEmpty(); line = readLine()) {
      int colon = line.indexOf(':');
      String name = line.substring(0, colon).toLowerCase(Locale.ROOT);
      String value = line.substring(colon + 1).trim();
      if (name.equals("content-length")) {
        length = Long.parseLong(value);
      } else if (name.equals("transfer-encoding")) {
        chunked = value.equalsIgnoreCase("chunked");
      } else if (name.equals("connection")) {
        over = value.equalsIgnoreCase("close");
      }
    }
    return new Head(status, length, chunked);
  }

  private byte[] chunks() throws IOException {
    var body = new java.io.ByteArrayOutputStream();
    for (long size = chunkSize(); size > 0; size = chunkSize()) {
      body.write(in.readNBytes((int) size));
      readLine();
    }
    readLine();
    return body.toByteArray();
  }

  private long chunkSize() throws IOException {
    return Long.parseLong(readLine().split(";", 2)[0].trim(), 16);
  }

  private long skip(long length, byte[] buffer) throws IOException {
    long left = length;
    while (left > 0) {
      int n = in.read(buffer, 0, (int) Math.min(left, buffer.length));
      if (n < 0) {
        throw new IOException("the body ended early");
      }
      left -= n;
    }
    return length;
  }

  private String readLine() throws IOException {
    var line = new StringBuilder(64);
    for (int c = in.read(); c != '\n'; c = in.read()) {
      if (c < 0) {
        throw new IOException("the server closed the connection");
      }
      if (c != '\r') {
        line.append((char) c);
      }
    }
    return line.toString();
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
