package dev.carrel.egress;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Connections to servers that have shown who they are. */
final class TlsUpstream implements Upstream {
  private final Session session;
  private final TlsEnds ends;
  private final Map<Wire, Wire> below = new ConcurrentHashMap<>();

  TlsUpstream(Session session, TlsEnds ends) {
    this.session = session;
    this.ends = ends;
  }

  @Override
  public Wire dial(Target target) throws RefusedException, InterruptedException, IOException {
    Wire socket = session.dial(target);
    TlsChannel tls;
    try {
      tls = new TlsChannel(socket, ends.client(target));
      tls.handshake();
    } catch (IOException e) {
      session.drop(socket);
      throw new RefusedException(
          Reason.TLS_FAILED, "no TLS with " + target + ": " + Printable.of(why(e), 200));
    }
    var wire = new Wire(tls, ByteBuffer.allocate(Buffers.SIZE));
    below.put(wire, socket);
    return wire;
  }

  /** The innermost cause is what helps: that a name or an issuer does not fit. */
  private static String why(Throwable failure) {
    Throwable cause = failure;
    while (cause.getCause() != null) {
      cause = cause.getCause();
    }
    return String.valueOf(cause.getMessage());
  }

  @Override
  public void drop(Wire wire) throws IOException {
    Wire socket = below.remove(wire);
    if (socket != null) {
      session.drop(socket);
    }
  }
}
