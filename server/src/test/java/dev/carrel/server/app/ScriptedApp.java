package dev.carrel.server.app;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * What listens on a port: it keeps the head of each request and does what the test says. The engine
 * without isolation has the host's network, so that it can be in the test itself.
 */
final class ScriptedApp implements AutoCloseable {
  private final ServerSocket socket;
  private final Script script;
  private final BlockingQueue<String> heads = new LinkedBlockingQueue<>();

  private ScriptedApp(ServerSocket socket, Script script) {
    this.socket = socket;
    this.script = script;
  }

  /** Serves one connection. */
  interface Script {
    void serve(InputStream in, OutputStream out) throws IOException, InterruptedException;
  }

  static ScriptedApp of(Script script) throws IOException {
    var app = new ScriptedApp(new ServerSocket(0, 50, InetAddress.getLoopbackAddress()), script);
    Thread.ofVirtual().start(app::accept);
    return app;
  }

  /** One that says this, whatever it is asked, and hangs up. */
  static ScriptedApp saying(String answer) throws IOException {
    return of((in, out) -> out.write(answer.getBytes(StandardCharsets.ISO_8859_1)));
  }

  int port() {
    return socket.getLocalPort();
  }

  /** The next request that came, to its empty line. */
  String head() throws InterruptedException {
    String head = heads.poll(30, TimeUnit.SECONDS);
    if (head == null) {
      throw new AssertionError("no request came");
    }
    return head;
  }

  /** Whether no request has come that was not looked at. */
  boolean untouched() {
    return heads.isEmpty();
  }

  private void accept() {
    try {
      while (true) {
        Socket client = socket.accept();
        Thread.ofVirtual().start(() -> serve(client));
      }
    } catch (IOException e) {
      // Closed by the test.
      return;
    }
  }

  private void serve(Socket client) {
    try (client) {
      InputStream in = client.getInputStream();
      heads.add(readHead(in));
      script.serve(in, client.getOutputStream());
    } catch (IOException e) {
      // The proxy hung up, as some tests want it to.
      return;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private static String readHead(InputStream in) throws IOException {
    var head = new ByteArrayOutputStream();
    for (int c; (c = in.read()) >= 0; ) {
      head.write(c);
      if (head.toString(StandardCharsets.ISO_8859_1).endsWith("\r\n\r\n")) {
        break;
      }
    }
    return head.toString(StandardCharsets.ISO_8859_1);
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
