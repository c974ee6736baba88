package dev.carrel.server;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.spi.DataSize;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.time.Duration;
import java.util.Set;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocketFactory;
import javax.net.ssl.TrustManagerFactory;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Clients that connect and ask for nothing keep no place from those that do. */
@Timeout(90)
class SilentClientsTest {
  private static final int MOST = 3;
  private static final String ASKING = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";

  private static LiveServer server(@Nullable SelfSigned own) {
    return LiveServer.start(
        new ServerSettings(
            "127.0.0.1",
            0,
            false,
            Set.of(),
            "",
            own == null ? null : own.certificate(),
            own == null ? null : own.key(),
            "",
            DataSize.ofMebibytes(1),
            MOST,
            Duration.ofSeconds(2),
            Duration.ofMillis(200),
            Duration.ofSeconds(5)));
  }

  @Test
  void theyAreHungUpOn() throws IOException {
    try (LiveServer server = server(null);
        var asking = new Socket(InetAddress.getLoopbackAddress(), server.port())) {
      ask(asking);
      holdAllPlaces(server);
      ask(asking);
      try (var late = new Socket(InetAddress.getLoopbackAddress(), server.port())) {
        ask(late);
      }
    }
  }

  @Test
  void theyAreHungUpOnThatDoNotEvenSpeakTls(@TempDir Path folder) throws Exception {
    SelfSigned own = SelfSigned.in(folder);
    SSLSocketFactory sockets = trusting(own).getSocketFactory();
    try (LiveServer server = server(own);
        Socket asking = sockets.createSocket(InetAddress.getLoopbackAddress(), server.port())) {
      ask(asking);
      holdAllPlaces(server);
      ask(asking);
      try (Socket late = sockets.createSocket(InetAddress.getLoopbackAddress(), server.port())) {
        ask(late);
      }
    }
  }

  /** Returns when all but those that have asked for something have been hung up on. */
  private static void holdAllPlaces(LiveServer server) throws IOException {
    try (var silent = new RawClient(server.port());
        // The first bytes of a hello of TLS, or of a request.
        var halting = new RawClient(server.port());
        var waiting = new RawClient(server.port())) {
      halting.send("\u0016\u0003\u0001");
      assertThat(silent.readAll()).isEmpty();
      halting.readAll();
      assertThat(waiting.readAll()).isEmpty();
    }
  }

  private static void ask(Socket client) throws IOException {
    client.setSoTimeout(20_000);
    client.getOutputStream().write(ASKING.getBytes(US_ASCII));
    client.getOutputStream().flush();
    InputStream in = client.getInputStream();
    assertThat(new String(in.readNBytes(12), US_ASCII)).isEqualTo("HTTP/1.1 200");
    var head = new StringBuilder();
    while (head.indexOf("\r\n\r\n") < 0) {
      head.append((char) in.read());
    }
    String length = head.toString().replaceAll("(?si).*content-length: (\\d+).*", "$1");
    in.readNBytes(Integer.parseInt(length));
  }

  private static SSLContext trusting(SelfSigned own) throws Exception {
    KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
    store.load(null);
    try (InputStream in = Files.newInputStream(own.certificate())) {
      store.setCertificateEntry(
          "own", CertificateFactory.getInstance("X.509").generateCertificate(in));
    }
    var trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trust.init(store);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(null, trust.getTrustManagers(), null);
    return context;
  }
}
