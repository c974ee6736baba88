package dev.carrel.egress;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import javax.net.ssl.SSLException;

/**
 * A tunnel to a host that a secret of the sandbox is bound to. The proxy is the server for the
 * client and the client for the server, and reads every request and every answer in between.
 */
final class Interception {
  private static final Duration HANDSHAKE = Duration.ofSeconds(30);

  private final Session session;
  private final Asked asked;
  private final TlsEnds ends;

  Interception(Session session, Asked asked) {
    this.session = session;
    this.asked = asked;
    this.ends = session.gate().broker().ends();
  }

  /** Returns when the client has ended. The hello lies in its input, and was found to be right. */
  void run() throws IOException, InterruptedException {
    session.within(HANDSHAKE);
    try (var tls = new TlsChannel(session.client(), ends.server(asked.target().host()))) {
      if (shakeHands(tls)) {
        var inside = new Wire(tls, ByteBuffer.allocate(Buffers.SIZE));
        new HttpSide(session, asked.target(), inside, new TlsUpstream(session, ends)).serve();
      }
    }
  }

  private boolean shakeHands(TlsChannel tls) throws IOException {
    try {
      tls.handshake();
      return true;
    } catch (SSLException e) {
      session
          .gate()
          .refused(
              asked,
              new RefusedException(
                  Reason.TLS_FAILED,
                  "the client and the proxy do not agree: "
                      + Printable.of(String.valueOf(e.getMessage()), 200)));
      return false;
    }
  }
}
