package dev.carrel.egress;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.channels.ByteChannel;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;
import java.util.zip.GZIPInputStream;
import org.jspecify.annotations.Nullable;

/**
 * The server's own requests, held to a gate's policy as a sandbox's are: the same check, the same
 * resolver, the same address. One request a call; nothing is followed. Safe for many threads.
 */
public final class Fetch {
  private static final int HTTP = 80;
  private static final int HTTPS = 443;
  private static final Set<String> MOVED = Set.of("301", "302", "303", "307", "308");
  private static final String AGENT = "Mozilla/5.0 (compatible; Carrel)";

  private final Dialler dialler;
  private final Buffers buffers;
  private final TlsEnds ends;

  Fetch(Dialler dialler, Buffers buffers, TlsEnds ends) {
    this.dialler = dialler;
    this.buffers = buffers;
    this.ends = ends;
  }

  /**
   * What a server said.
   *
   * @param type empty: it did not say
   * @param location where else it is; null: here
   * @param cut whether there was more than was wanted
   */
  @SuppressWarnings("ArrayRecordComponent") // written once, never compared
  public record Answer(
      int status, String type, @Nullable String location, byte[] body, boolean cut) {}

  /**
   * @param uri whole, of http or https
   * @param most how many bytes of its body are wanted
   * @param patience for all of it
   */
  public Answer get(Gate gate, URI uri, int most, Duration patience)
      throws FetchException, InterruptedException {
    boolean secure = "https".equalsIgnoreCase(uri.getScheme());
    Asked asked;
    try {
      asked = asked(uri, secure);
    } catch (IllegalArgumentException e) {
      throw new FetchException(
          uri + " cannot be read: " + e.getMessage(), false, "write the host plainly", e);
    }
    try {
      dialler.permit(gate, asked);
      return ask(gate, asked, pathAndQuery(uri), secure, most, patience);
    } catch (RefusedException e) {
      gate.refused(asked, e);
      throw new FetchException(
          e.message(), e.reason().forbids(), Denial.hint(gate.sandbox(), asked, e.reason()), e);
    } catch (IOException e) {
      throw new FetchException(
          asked.target() + " broke off: " + e.getMessage(), false, "try again later", e);
    }
  }

  /** A page of https is asked for as through a tunnel: rules about paths do not see into one. */
  private static Asked asked(URI uri, boolean secure) {
    Target target = Target.parse(String.valueOf(uri.getRawAuthority()), secure ? HTTPS : HTTP);
    return secure
        ? Asked.tunnel("connect", target)
        : new Asked("http", target, "GET", uri.getRawPath().isEmpty() ? "/" : uri.getRawPath());
  }

  private static String pathAndQuery(URI uri) {
    String path = uri.getRawPath().isEmpty() ? "/" : uri.getRawPath();
    return uri.getRawQuery() == null ? path : path + "?" + uri.getRawQuery();
  }

  private Answer ask(
      Gate gate, Asked asked, String path, boolean secure, int most, Duration patience)
      throws RefusedException, IOException, InterruptedException {
    Wire socket = dialler.dial(asked.target());
    Thread clock = Thread.ofVirtual().name("fetch-clock").start(() -> hangUp(socket, patience));
    try {
      Wire wire = secure ? secured(socket, asked.target()) : socket;
      String request =
          """
          GET %s HTTP/1.1\r
          Host: %s\r
          User-Agent: %s\r
          Accept: text/html,application/xhtml+xml,text/*;q=0.9,*/*;q=0.5\r
          Accept-Encoding: gzip\r
          Connection: close\r
          \r
          """
              .formatted(path, asked.target().authority(secure ? HTTPS : HTTP), AGENT);
      gate.requireHarmless(request);
      gate.send(request.length());
      wire.write(request);
      return read(gate, wire, most);
    } finally {
      clock.interrupt();
      clock.join();
      socket.close();
      buffers.giveBack(socket.input());
    }
  }

  private static void hangUp(Wire socket, Duration patience) {
    long end = System.nanoTime() + patience.toNanos();
    while (!Thread.currentThread().isInterrupted() && System.nanoTime() < end) {
      LockSupport.parkNanos(end - System.nanoTime());
    }
    if (!Thread.currentThread().isInterrupted()) {
      try {
        socket.close();
      } catch (IOException e) {
        throw new java.io.UncheckedIOException("a connection did not close", e);
      }
    }
  }

  private Wire secured(Wire socket, Target target) throws IOException {
    var tls = new TlsChannel(socket, ends.client(target));
    tls.handshake();
    return new Wire(tls, ByteBuffer.allocate(Buffers.SIZE));
  }

  private static Answer read(Gate gate, Wire wire, int most) throws IOException, RefusedException {
    HttpHead head = Forwarding.readAnswer(wire);
    while (head != null && head.start().get(1).startsWith("1")) {
      head = Forwarding.readAnswer(wire);
    }
    if (head == null) {
      throw new IOException("there was no answer");
    }
    String status = head.start().get(1);
    String type = first(head, "Content-Type");
    List<String> locations = head.values("Location");
    if (MOVED.contains(status) && locations.size() == 1) {
      return new Answer(Integer.parseInt(status), type, locations.getFirst(), new byte[0], false);
    }
    var body = new Bounded(most);
    Framing framing = head.framing();
    try {
      Bodies.copy(
          framing == null ? new Framing.UntilClose() : framing,
          wire,
          new Wire(body, ByteBuffer.allocate(0)),
          false,
          gate::receive,
          Filter.NONE);
    } catch (FullException enough) {
      body.cut = true;
    }
    byte[] bytes = body.bytes.toByteArray();
    if (first(head, "Content-Encoding").toLowerCase(Locale.ROOT).equals("gzip")) {
      return unpacked(Integer.parseInt(status), type, bytes, most, body.cut);
    }
    return new Answer(Integer.parseInt(status), type, null, bytes, body.cut);
  }

  /** What a few bytes unpack to is bounded like anything else. */
  private static Answer unpacked(int status, String type, byte[] packed, int most, boolean cut)
      throws IOException {
    try (var stream = new GZIPInputStream(new ByteArrayInputStream(packed))) {
      var bytes = new ByteArrayOutputStream();
      byte[] piece = new byte[Buffers.SIZE];
      int count = 0;
      try {
        while (bytes.size() < most && (count = stream.read(piece)) > 0) {
          bytes.write(piece, 0, Math.min(count, most - bytes.size()));
        }
      } catch (IOException e) {
        // Packed bytes that were cut end in the middle.
        if (!cut) {
          throw e;
        }
      }
      return new Answer(status, type, null, bytes.toByteArray(), cut || count > 0);
    }
  }

  private static String first(HttpHead head, String name) {
    List<String> values = head.values(name);
    return values.isEmpty() ? "" : values.getFirst();
  }

  /** There is no more room. */
  private static final class FullException extends IOException {
    private static final long serialVersionUID = 1L;
  }

  /** Takes so many bytes and no more. */
  private static final class Bounded implements ByteChannel {
    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    private final int most;
    private boolean cut;

    Bounded(int most) {
      this.most = most;
    }

    @Override
    public int write(ByteBuffer piece) throws IOException {
      int room = Math.min(piece.remaining(), most - bytes.size());
      byte[] taken = new byte[room];
      piece.get(taken);
      bytes.write(taken);
      if (piece.hasRemaining()) {
        throw new FullException();
      }
      return room;
    }

    @Override
    public int read(ByteBuffer into) {
      return -1;
    }

    @Override
    public boolean isOpen() {
      return true;
    }

    @Override
    public void close() {}
  }
}
