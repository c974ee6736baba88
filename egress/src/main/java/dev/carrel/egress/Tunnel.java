package dev.carrel.egress;

import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;

/**
 * Bytes both ways between a client and the host it asked for, whether by CONNECT or by SOCKS. What
 * can be seen of them is held to that host: the name in the TLS hello, and plain HTTP.
 */
final class Tunnel {
  private static final int WEB = 80;
  private static final int TLS = 443;
  private static final Duration HELLO = Duration.ofSeconds(30);
  // handshake_failure would do too; unrecognized_name says what is the matter.
  private static final byte[] ALERT = {0x15, 3, 3, 0, 2, 2, 112};

  private static final byte CHANGE_CIPHER_SPEC = 20;
  private static final int CHANGE_CIPHER_SPEC_SIZE = 6;

  private final CountDownLatch answered = new CountDownLatch(1);
  private final Session session;
  private final Asked asked;
  private final Wire client;
  private @Nullable Wire server;
  private boolean needsTls;
  private boolean intercepted;
  private volatile boolean again;

  Tunnel(Session session, Asked asked) {
    this.session = session;
    this.asked = asked;
    this.client = session.client();
  }

  /**
   * Connects, unless it is to the plain web or to a host that a secret is bound to: there each
   * request is looked at and goes by itself.
   */
  void open() throws RefusedException, IOException, InterruptedException {
    Target target = asked.target();
    session.gate().requireHarmless(target.toString());
    intercepted = session.gate().broker().brokers(target);
    Judge.Pass pass;
    try {
      pass = session.dialler().permit(session.gate(), asked);
    } catch (RefusedException e) {
      if ((target.port() == WEB || intercepted) && e.reason() == Reason.METHOD_OR_PATH) {
        return;
      }
      throw e;
    }
    if (intercepted) {
      return;
    }
    needsTls = target.port() == TLS || !pass.namesPort();
    if (pass.namesPort() || target.port() != WEB) {
      server = session.dial(target);
    }
  }

  /** Returns when both sides have ended. The client knows already that it is connected. */
  void run() throws IOException, InterruptedException {
    if (intercepted) {
      session.within(HELLO);
      if (hello(true) > 0) {
        new Interception(session, asked).run();
      }
      return;
    }
    Wire to = server;
    if (to == null) {
      new HttpSide(session, asked.target()).serve();
      return;
    }
    session.holds(asked);
    Thread down = needsTls ? null : session.start("down", () -> down(to));
    session.within(HELLO);
    int hello = hello(down == null);
    if (hello < 0) {
      return;
    }
    // Here a tunnel becomes bytes: nothing has been sent to the server yet, and the whole hello
    // lies in the client's input.
    session.touch();
    if (down == null) {
      down = session.start("down", () -> down(to));
    }
    try {
      if (hello > 0) {
        sayHello(hello, to);
      }
      Bodies.copyAll(client, to, session.out());
      to.endOutput();
    } catch (RefusedException e) {
      session.gate().refused(asked, e);
      return;
    }
    down.join();
  }

  /**
   * How many of the client's next bytes are a hello that names the right host; negative: it names
   * another, and was told so.
   *
   * @param first whether the client has heard nothing yet
   */
  private int hello(boolean first) throws IOException {
    try {
      return new TlsCheck(asked.target(), needsTls || intercepted).check(client);
    } catch (RefusedException e) {
      session.gate().refused(asked, e);
      if (first) {
        client.write(ALERT);
      }
      return -1;
    }
  }

  /** Sends the hello alone, and what follows only once it is known not to be another hello. */
  private void sayHello(int size, Wire to)
      throws IOException, InterruptedException, RefusedException {
    Bodies.copy(size, client, to, session.out());
    answered.await();
    if (!again) {
      return;
    }
    // Clients may put a message in between that means nothing (RFC 8446, D.4).
    if (client.fill(1) && client.input().get(client.input().position()) == CHANGE_CIPHER_SPEC) {
      Bodies.copy(CHANGE_CIPHER_SPEC_SIZE, client, to, session.out());
    }
    Bodies.copy(new TlsCheck(asked.target(), true).check(client), client, to, session.out());
  }

  private void down(Wire from) throws IOException {
    try {
      again = HelloRetry.isAskedBy(from);
    } finally {
      answered.countDown();
    }
    try {
      Bodies.copyAll(from, client, session.in());
      client.endOutput();
    } catch (RefusedException e) {
      session.gate().refused(asked, e);
      session.close();
    }
  }
}
