package dev.carrel.server.app;

import dev.carrel.control.port.PortStream;
import dev.carrel.control.port.Ports;
import dev.carrel.control.redact.RedactedStream;
import dev.carrel.control.redact.Redaction;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.server.http.Exchange;
import dev.carrel.server.http.HttpProblem;
import dev.carrel.server.http.WebSocket;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Passes a request on to an app and its answer back, both as they come. Each request has a
 * connection to the app of its own, so that nothing of one can be taken for part of another.
 */
final class AppProxy {
  private static final int PIECE = 32 * 1024;
  private static final long SURPLUS = 64L * 1024 * 1024;
  private static final Duration LINGER = Duration.ofSeconds(2);
  private static final byte[] CRLF = {'\r', '\n'};
  private static final byte[] LAST_CHUNK = "0\r\n\r\n".getBytes(StandardCharsets.US_ASCII);

  private final Ports ports;
  private final Door door;
  private final AnswerHeaders headers;

  AppProxy(Ports ports, Door door, AnswerHeaders headers) {
    this.ports = ports;
    this.door = door;
    this.headers = headers;
  }

  void forward(Exchange exchange, Caller caller, Target target)
      throws IOException, InterruptedException {
    RequestHead.check(exchange);
    var unreadable = new AtomicReference<@Nullable HttpProblem>();
    try (PortStream app = ports.open(caller, target.place().sandbox(), target.place().port())) {
      talk(exchange, target, app, unreadable);
    } catch (IOException | UncheckedIOException e) {
      if (Thread.interrupted()) {
        throw new InterruptedException();
      }
      if (exchange.answered() || exchange.begun()) {
        // The client shall see that the answer is not whole.
        throw exchange.hangUp();
      }
      HttpProblem problem = unreadable.get();
      throw problem == null ? failed(target, e) : problem;
    }
  }

  private void talk(
      Exchange exchange,
      Target target,
      PortStream app,
      AtomicReference<@Nullable HttpProblem> unreadable)
      throws IOException, InterruptedException {
    boolean upgrade = exchange.wantsWebSocket();
    Redaction redaction = app.redaction();
    byte[] head = new RequestHead(exchange, target, door).bytes(upgrade, redaction.active());
    var output = new AppOutput(app, AppOutput.PATIENCE);
    output.write(head);
    var sent = new CountDownLatch(1);
    boolean hasBody = exchange.contentLength().orElse(1) > 0;
    if (hasBody) {
      exchange.readElsewhere(
          () -> {
            try {
              send(exchange, output, sent);
            } catch (HttpProblem e) {
              // The app would wait for the rest of the body, and this for the app.
              unreadable.set(e);
              app.close();
            }
          });
    } else {
      sent.countDown();
      exchange.cancelWhenClientLeaves();
    }
    var in = new AppInput(app);
    AnswerHead answer = AnswerHead.read(in);
    if (answer.status() == 101) {
      switchOver(exchange, answer, in, output, upgrade && !hasBody);
    }
    headers.copy(answer, exchange, target, redaction);
    boolean live = pass(exchange, answer, in, redaction, hasBody);
    // A client that still sends would not see the answer if the connection ended under it.
    boolean over = sent.await(LINGER.toMillis(), TimeUnit.MILLISECONDS);
    if (live || !over) {
      throw exchange.hangUp();
    }
  }

  /** Sends the body on. When the app wants no more of it, the rest is read and dropped. */
  private static void send(Exchange exchange, AppOutput app, CountDownLatch sent) {
    boolean chunked = exchange.contentLength().isEmpty();
    byte[] piece = new byte[PIECE];
    boolean wanted = true;
    try {
      InputStream body = exchange.body();
      long surplus = 0;
      for (int count; (count = body.read(piece)) >= 0 && surplus < SURPLUS; ) {
        wanted = wanted && sendPiece(app, piece, count, chunked);
        surplus += wanted ? 0 : count;
      }
      if (wanted && chunked) {
        sendQuietly(app, LAST_CHUNK, LAST_CHUNK.length);
      }
      sent.countDown();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static boolean sendPiece(AppOutput app, byte[] piece, int count, boolean chunked) {
    if (!chunked) {
      return sendQuietly(app, piece, count);
    }
    byte[] size = (Integer.toHexString(count) + "\r\n").getBytes(StandardCharsets.US_ASCII);
    return sendQuietly(app, size, size.length)
        && sendQuietly(app, piece, count)
        && sendQuietly(app, CRLF, CRLF.length);
  }

  /** False when the app takes no more. */
  private static boolean sendQuietly(AppOutput app, byte[] bytes, int count) {
    try {
      app.write(bytes, count);
      return true;
    } catch (IOException e) {
      return false;
    }
  }

  /** True when the web server knows nothing of the answer. */
  private static boolean pass(
      Exchange exchange, AnswerHead answer, AppInput in, Redaction redaction, boolean hasBody)
      throws IOException {
    int status = answer.status();
    if (exchange.method().equals("HEAD")) {
      exchange.headersOnly(status, answer.length());
      return false;
    }
    if (status == 204 || status == 304) {
      exchange.headersOnly(status, -1);
      return false;
    }
    if (answer.length() == 0) {
      exchange.bytes(status, new byte[0]);
      return false;
    }
    // Some clients wait for the head before anything comes.
    boolean live = answer.length() < 0;
    OutputStream out;
    if (live) {
      out = exchange.stream(status);
    } else if (hasBody) {
      out = exchange.live(status, answer.length());
    } else {
      out = exchange.output(status, answer.length());
      exchange.cancelWhenClientLeaves();
    }
    // Of the same length: what the app said of its length and ranges stays true.
    RedactedStream clean = redaction.sameLengthStream();
    byte[] piece = new byte[PIECE];
    var body = new AnswerBody(in, answer.length());
    for (int count; (count = body.read(piece)) >= 0; ) {
      write(out, clean.next(ByteBuffer.wrap(piece, 0, count)));
      out.flush();
    }
    write(out, clean.end());
    // Only now: to close it is to say that the answer was whole.
    out.close();
    return live;
  }

  private static void write(OutputStream out, ByteBuffer bytes) throws IOException {
    out.write(bytes.array(), bytes.arrayOffset() + bytes.position(), bytes.remaining());
  }

  /** Both ends speak WebSocket from now on, with each other. */
  private static void switchOver(
      Exchange exchange, AnswerHead answer, AppInput in, AppOutput app, boolean wanted)
      throws IOException {
    String key = exchange.header(WebSocket.KEY).map(String::strip).orElse("");
    // Else somebody between here and the client could be made to believe in a switch.
    if (!wanted
        || answer.tokens("upgrade").stream().noneMatch("websocket"::equalsIgnoreCase)
        || !answer.find("sec-websocket-accept").orElse("").equals(WebSocket.accept(key))) {
      throw new AppBrokeOff("it switches to a protocol that nobody asked for");
    }
    var head = new StringBuilder("HTTP/1.1 101 Switching Protocols\r\n");
    head.append("Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ")
        .append(WebSocket.accept(key));
    for (String name : new String[] {"Sec-WebSocket-Protocol", "Sec-WebSocket-Extensions"}) {
      answer.find(name).ifPresent(value -> head.append("\r\n" + name + ": " + value));
    }
    OutputStream out = exchange.switchProtocols(head.append("\r\n\r\n").toString(), app::write);
    byte[] piece = new byte[PIECE];
    for (int count; (count = in.read(piece, 0, piece.length)) >= 0; ) {
      out.write(piece, 0, count);
    }
    throw exchange.hangUp();
  }

  private static SandboxException failed(Target target, Exception e) {
    String why = e instanceof AppBrokeOff ? e.getMessage() : "it broke off";
    return new SandboxException(
            ErrorCode.APP_FAILED,
            "what listens on port %d gave no valid answer: %s"
                .formatted(target.place().port(), why),
            e)
        .withHint("does it speak HTTP/1.1 there? its own log may say more");
  }
}
