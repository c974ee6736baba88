package dev.carrel.egress;

import java.io.IOException;

/** Holds a TLS client to the host that it asked the proxy for. */
final class TlsCheck {
  private static final byte HANDSHAKE = 22;

  private final Target target;
  private final boolean needed;

  /**
   * @param needed whether anything but TLS is refused
   */
  TlsCheck(Target target, boolean needed) {
    this.target = target;
    this.needed = needed;
  }

  /**
   * Looks at the client's next bytes and leaves them where they are. Returns how many of them are a
   * hello; 0: none.
   */
  int check(Wire client) throws IOException, RefusedException {
    if (!client.fill(1)) {
      return 0;
    }
    if (client.input().get(client.input().position()) != HANDSHAKE) {
      if (needed) {
        throw new RefusedException(Reason.NO_TLS, "what goes to " + target + " is not TLS");
      }
      return 0;
    }
    ClientHello hello = ClientHello.read(client);
    check(hello);
    return hello.size();
  }

  private void check(ClientHello hello) throws RefusedException {
    if (hello.hidden()) {
      throw new RefusedException(
          Reason.TLS_HIDDEN_NAME, "the TLS hello to " + target + " hides a name (ECH)");
    }
    String name = hello.serverName();
    if (name == null) {
      if (target.host().isName()) {
        throw new RefusedException(
            Reason.TLS_NAME, "the TLS hello to " + target + " names no host (SNI)");
      }
      return;
    }
    Host named;
    try {
      named = Host.parse(name);
    } catch (IllegalArgumentException e) {
      throw new RefusedException(Reason.TLS_NAME, String.valueOf(e.getMessage()));
    }
    if (!named.equals(target.host())) {
      throw new RefusedException(
          Reason.TLS_NAME, "the TLS hello names " + named + ", the tunnel goes to " + target);
    }
  }
}
