package dev.carrel.egress;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.channels.ByteChannel;
import java.nio.channels.WritableByteChannel;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
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
  private static final String PAGES = "text/html,application/xhtml+xml,text/*;q=0.9,*/*;q=0.5";
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
   * @param packed whether the body that was saved is gzip, though nobody asked for that
   */
  @SuppressWarnings("ArrayRecordComponent") // written once, never compared
  public record Answer(
      int status,
      String type,
      @Nullable String location,
      byte[] body,
      boolean cut,
      boolean packed) {}

  /**
   * @param uri whole, of http or https
   * @param most how many bytes of its body are wanted
   * @param patience for all of it
   */
  public Answer get(Gate gate, URI uri, int most, Duration patience)
      throws FetchException, InterruptedException {
    return get(gate, uri, PAGES, most, patience);
  }

  /**
   * @param accept the types that are understood
   */
  public Answer get(Gate gate, URI uri, String accept, int most, Duration patience)
      throws FetchException, InterruptedException {
    return judged(
        gate,
        uri,
        asked -> {
          dialler.permit(gate, asked);
          var words = new Words(pathAndQuery(uri), accept, "gzip");
          return ask(gate, asked, words, patience, wire -> read(gate, wire, most));
        });
  }

  /**
   * Fetches a file.
   *
   * @param into gets the body of an answer with status 200, and nothing of others
   * @return an answer without a body
   */
  public Answer save(Gate gate, URI uri, WritableByteChannel into, Duration patience)
      throws FetchException, InterruptedException {
    return save(gate, uri, into, Long.MAX_VALUE, patience);
  }

  /**
   * @param most a body that is said to have more bytes is not begun
   */
  public Answer save(Gate gate, URI uri, WritableByteChannel into, long most, Duration patience)
      throws FetchException, InterruptedException {
    return judged(
        gate,
        uri,
        asked -> {
          dialler.permit(gate, asked);
          var words = new Words(pathAndQuery(uri), "*/*", "identity");
          return ask(gate, asked, words, patience, wire -> save(gate, wire, into, most));
        });
  }

  /** Whether it could be asked for; noted as if it had been. */
  public void require(Gate gate, URI uri) throws FetchException, InterruptedException {
    judged(gate, uri, asked -> dialler.permit(gate, asked));
  }

  /** Whether it is where one of the rules says. */
  public static boolean within(List<Rule> rules, URI uri) {
    try {
      Target target = asked(uri, isSecure(uri)).target();
      return rules.stream().anyMatch(rule -> rule.names(target));
    } catch (IllegalArgumentException e) {
      return false;
    }
  }

  /** Something that a policy is asked about first. */
  private interface Judged<T> {
    T run(Asked asked) throws RefusedException, IOException, InterruptedException;
  }

  private static <T> T judged(Gate gate, URI uri, Judged<T> work)
      throws FetchException, InterruptedException {
    Asked asked;
    try {
      asked = asked(uri, isSecure(uri));
    } catch (IllegalArgumentException e) {
      throw new FetchException(
          uri + " cannot be read: " + e.getMessage(), false, "write the host plainly", e);
    }
    try {
      return work.run(asked);
    } catch (RefusedException e) {
      gate.refused(asked, e);
      throw new FetchException(
          e.message(), e.reason().forbids(), Denial.hint(gate.sandbox(), asked, e.reason()), e);
    } catch (IOException e) {
      throw new FetchException(
          asked.target() + " broke off: " + e.getMessage(), false, "try again later", e);
    }
  }

  private static boolean isSecure(URI uri) {
    return "https".equalsIgnoreCase(uri.getScheme());
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

  /** What a request says, beside where it goes. */
  private record Words(String path, String accept, String encoding) {}

  private interface Reading {
    Answer read(Wire wire) throws RefusedException, IOException;
  }

  private Answer ask(Gate gate, Asked asked, Words words, Duration patience, Reading reading)
      throws RefusedException, IOException, InterruptedException {
    boolean secure = asked.isTunnel();
    Wire socket = dialler.dial(gate, asked.target());
    Thread clock = Thread.ofVirtual().name("fetch-clock").start(() -> hangUp(socket, patience));
    try {
      Wire wire = secure ? secured(socket, asked.target()) : socket;
      String request =
          """
          GET %s HTTP/1.1\r
          Host: %s\r
          User-Agent: %s\r
          Accept: %s\r
          Accept-Encoding: %s\r
          Connection: close\r
          \r
          """
              .formatted(
                  words.path,
                  asked.target().authority(secure ? HTTPS : HTTP),
                  AGENT,
                  words.accept,
                  words.encoding);
      gate.requireHarmless(request);
      gate.send(request.length());
      wire.write(request);
      return reading.read(wire);
    } finally {
      clock.interrupt();
      try {
        clock.join();
      } finally {
        socket.close();
        socket.giveBack(buffers);
      }
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

  private static HttpHead head(Gate gate, Wire wire) throws IOException, RefusedException {
    HttpHead head = Forwarding.readAnswer(wire, gate::receive);
    while (head != null && head.start().get(1).startsWith("1")) {
      head = Forwarding.readAnswer(wire, gate::receive);
    }
    if (head == null) {
      throw new IOException("there was no answer");
    }
    return head;
  }

  private static Answer save(Gate gate, Wire wire, WritableByteChannel into, long most)
      throws IOException, RefusedException {
    HttpHead head = head(gate, wire);
    Optional<Answer> moved = moved(head);
    if (moved.isPresent()) {
      return moved.get();
    }
    int status = Integer.parseInt(head.start().get(1));
    Framing framing = head.framing();
    if (status == 200) {
      if (framing instanceof Framing.Length(long bytes) && bytes > most) {
        throw new IOException("it has " + bytes + " bytes, more than are wanted");
      }
      Bodies.copy(
          framing == null ? new Framing.UntilClose() : framing,
          wire,
          new Wire(new Outward(into), ByteBuffer.allocate(0)),
          false,
          gate::receive,
          Filter.NONE);
    }
    String type = first(head, "Content-Type");
    return new Answer(status, type, null, new byte[0], false, isPacked(head));
  }

  private static Answer read(Gate gate, Wire wire, int most) throws IOException, RefusedException {
    HttpHead head = head(gate, wire);
    Optional<Answer> moved = moved(head);
    if (moved.isPresent()) {
      return moved.get();
    }
    int status = Integer.parseInt(head.start().get(1));
    String type = first(head, "Content-Type");
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
    if (isPacked(head)) {
      return unpacked(status, type, bytes, most, body.cut);
    }
    return new Answer(status, type, null, bytes, body.cut, false);
  }

  private static Optional<Answer> moved(HttpHead head) {
    String status = head.start().get(1);
    List<String> locations = head.values("Location");
    if (!MOVED.contains(status) || locations.size() != 1) {
      return Optional.empty();
    }
    String type = first(head, "Content-Type");
    String location = locations.getFirst();
    return Optional.of(
        new Answer(Integer.parseInt(status), type, location, new byte[0], false, false));
  }

  private static boolean isPacked(HttpHead head) {
    return first(head, "Content-Encoding").toLowerCase(Locale.ROOT).equals("gzip");
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
      return new Answer(status, type, null, bytes.toByteArray(), cut || count > 0, false);
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

  /** Passes on what is written to it. */
  private record Outward(WritableByteChannel into) implements ByteChannel {
    @Override
    public int write(ByteBuffer piece) throws IOException {
      return into.write(piece);
    }

    @Override
    public int read(ByteBuffer unused) {
      return -1;
    }

    @Override
    public boolean isOpen() {
      return into.isOpen();
    }

    @Override
    public void close() throws IOException {
      into.close();
    }
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
