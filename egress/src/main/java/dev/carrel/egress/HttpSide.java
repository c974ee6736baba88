package dev.carrel.egress;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** HTTP/1.1 as clients speak it to a proxy: whole URLs one after the other, or CONNECT. */
final class HttpSide {
  private static final Duration NEXT_REQUEST = Duration.ofMinutes(2);
  private static final Duration HEAD = Duration.ofSeconds(30);
  private static final Duration OWN_ANSWER = Duration.ofMinutes(10);
  static final Duration LAST_WORDS = Duration.ofSeconds(2);
  static final long MAX_UNREAD = 1 << 20;

  private final Session session;
  private final Wire client;
  private final @Nullable Target origin;
  private final boolean secure;
  private final Forwarding forwarding;

  /**
   * @param origin the end of the tunnel within which this is spoken; null: there is none
   */
  HttpSide(Session session, @Nullable Target origin) {
    this.session = session;
    this.client = session.client();
    this.origin = origin;
    this.secure = false;
    this.forwarding = new Forwarding(session, client, Upstream.plain(session));
  }

  /**
   * @param inside a client that speaks through TLS
   */
  HttpSide(Session session, Target origin, Wire inside, TlsUpstream upstream) {
    this.session = session;
    this.client = inside;
    this.origin = origin;
    this.secure = true;
    this.forwarding = new Forwarding(session, inside, upstream);
  }

  void serve() throws IOException, InterruptedException {
    boolean more = true;
    while (more) {
      if (!client.input().hasRemaining()) {
        session.within(NEXT_REQUEST);
        if (!client.fill()) {
          return;
        }
      }
      session.within(HEAD);
      more = serveOne();
    }
  }

  /** One request; true when another may follow. */
  private boolean serveOne() throws IOException, InterruptedException {
    HttpRequest request;
    try {
      HttpHead head = HttpHead.read(client);
      if (head == null) {
        return false;
      }
      // Within a tunnel requests are the server's business; the tunnel itself was asked for with a
      // token.
      Tokens.Bearer bearer = origin == null ? session.bearer(head) : null;
      request = HttpRequest.of(head, origin, secure);
      if (bearer != null) {
        bearer.require(request.asked().target());
      }
    } catch (RefusedException e) {
      session.gate().refused("http", e);
      client.write(Denial.http(session.gate().sandbox(), null, e, true));
      letGo();
      return false;
    }
    session.touch();
    if (request.isConnect()) {
      return connect(request.asked());
    }
    try {
      session.gate().requireHarmless(request.upstreamHead());
      OwnHost own = own(request);
      if (own != null) {
        return answer(request, own);
      }
      session.dialler().permit(session.gate(), request.asked());
      return forwarding.forward(request);
    } catch (RefusedException e) {
      // A body that nobody has read stands before the next request.
      return refuse(request.asked(), e, request.framing().hasBody() || !request.keepsAlive());
    }
  }

  /** Who answers it here; null: it is for somebody else. */
  private @Nullable OwnHost own(HttpRequest request) {
    Target target = request.asked().target();
    boolean ours = origin == null && target.host().text().equals(OwnHost.NAME);
    return ours && "GET".equals(request.asked().method()) && !request.framing().hasBody()
        ? session.gate().own(request.pathAndQuery().split("/", 3)[1])
        : null;
  }

  private boolean answer(HttpRequest request, OwnHost own)
      throws IOException, InterruptedException {
    String[] parts = request.pathAndQuery().split("/", 3);
    boolean keeps = request.keepsAlive();
    session.within(OWN_ANSWER);
    String accept = String.join(",", request.head().values("Accept"));
    try (OwnHost.Reply reply = own.get(parts.length < 3 ? "" : parts[2], accept)) {
      client.write(reply.head(keeps));
      ByteBuffer piece = ByteBuffer.allocate(Buffers.SIZE);
      for (long left = reply.body().length(); left > 0; left -= piece.limit()) {
        piece.clear().limit((int) Math.min(left, piece.capacity()));
        if (reply.body().channel().read(piece) <= 0) {
          return false;
        }
        session.touch();
        client.write(piece.flip());
      }
    }
    return keeps;
  }

  private boolean connect(Asked asked) throws IOException, InterruptedException {
    if (origin != null) {
      return refuse(asked, RefusedException.malformed("a tunnel within a tunnel"), true);
    }
    var tunnel = new Tunnel(session, asked);
    try {
      tunnel.open();
    } catch (RefusedException e) {
      return refuse(asked, e, false);
    }
    client.write("HTTP/1.1 200 Connection established\r\n\r\n");
    tunnel.run();
    return false;
  }

  private boolean refuse(Asked asked, RefusedException why, boolean close) throws IOException {
    session.gate().refused(asked, why);
    client.write(Denial.http(session.gate().sandbox(), asked, why, close));
    if (close) {
      letGo();
    }
    return !close;
  }

  /** Whoever is refused while still sending is to read why. */
  private void letGo() throws IOException {
    session.within(LAST_WORDS);
    client.letGo(MAX_UNREAD);
  }
}
