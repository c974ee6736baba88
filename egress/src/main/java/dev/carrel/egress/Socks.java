package dev.carrel.egress;

import java.io.IOException;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/** SOCKS5 (RFC 1928): connections only, without authentication; names are resolved here. */
final class Socks {
  private static final byte VERSION = 5;
  private static final byte NO_AUTHENTICATION = 0;
  private static final byte CONNECT = 1;
  private static final byte IPV4 = 1;
  private static final byte NAME = 3;
  private static final byte IPV6 = 4;

  private static final int SUCCEEDED = 0;
  private static final int GENERAL = 1;
  private static final int NOT_ALLOWED = 2;
  private static final int UNREACHABLE = 4;
  private static final int TIMED_OUT = 6;
  private static final int NOT_SUPPORTED = 7;

  private final Session session;
  private final Wire client;

  Socks(Session session) {
    this.session = session;
    this.client = session.client();
  }

  void serve() throws IOException, InterruptedException {
    if (!greet()) {
      return;
    }
    Asked asked;
    try {
      asked = Asked.tunnel("socks", target());
    } catch (RefusedException e) {
      session.gate().refused("socks", e);
      reply(e.reason() == Reason.MALFORMED ? GENERAL : NOT_SUPPORTED);
      return;
    }
    var tunnel = new Tunnel(session, asked);
    try {
      tunnel.open();
    } catch (RefusedException e) {
      session.gate().refused(asked, e);
      reply(code(e.reason()));
      return;
    }
    reply(SUCCEEDED);
    tunnel.run();
  }

  private boolean greet() throws IOException {
    byte[] head = take(2);
    boolean plain = false;
    for (byte method : take(head[1] & 0xff)) {
      plain |= method == NO_AUTHENTICATION;
    }
    client.write(new byte[] {VERSION, plain ? NO_AUTHENTICATION : (byte) 0xff});
    return plain;
  }

  private Target target() throws IOException, RefusedException {
    byte[] head = take(4);
    if (head[0] != VERSION || head[2] != 0) {
      throw RefusedException.malformed("not a SOCKS5 request");
    }
    try {
      Host host =
          switch (head[3]) {
            case IPV4 -> Host.of(InetAddress.getByAddress(take(4)));
            case IPV6 -> Host.of(InetAddress.getByAddress(take(16)));
            case NAME -> name(take(take(1)[0] & 0xff));
            default -> throw RefusedException.malformed("not an address of SOCKS5");
          };
      int port = ByteBuffer.wrap(take(2)).getShort() & 0xffff;
      if (head[1] != CONNECT) {
        throw new RefusedException(Reason.NO_TLS, "SOCKS5 is for connections only");
      }
      return new Target(host, port);
    } catch (IllegalArgumentException e) {
      throw RefusedException.malformed(String.valueOf(e.getMessage()));
    }
  }

  private static Host name(byte[] bytes) {
    return Host.parse(new String(bytes, StandardCharsets.US_ASCII));
  }

  private byte[] take(int bytes) throws IOException {
    if (!client.fill(bytes)) {
      throw new IOException("the client hung up within a request");
    }
    byte[] taken = new byte[bytes];
    client.input().get(taken);
    return taken;
  }

  private void reply(int code) throws IOException {
    client.write(new byte[] {VERSION, (byte) code, 0, IPV4, 0, 0, 0, 0, 0, 0});
  }

  private static int code(Reason reason) {
    return switch (reason) {
      case NOT_ALLOWED,
          DENIED,
          PORT,
          METHOD_OR_PATH,
          ADDRESS,
          NO_TLS,
          TLS_NAME,
          TLS_HIDDEN_NAME,
          BUDGET,
          CANARY,
          TOKEN ->
          NOT_ALLOWED;
      case UNRESOLVED, UNREACHABLE, TLS_FAILED -> UNREACHABLE;
      case TIMED_OUT -> TIMED_OUT;
      case MALFORMED, TOO_MANY -> GENERAL;
    };
  }
}
