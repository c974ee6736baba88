package dev.carrel.dist;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.cli.LocalServer;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.nio.file.Path;
import java.util.Map;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The server of a command that finds none, where the operator has set up one for others. */
@Timeout(120)
class OwnServerIT {
  @TempDir private Path folder;

  @Test
  void listensOnLoopbackAloneWhateverIsSetForOthers() throws Exception {
    try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      var desk =
          new Desk(
              folder,
              Map.of(
                  "CARREL_SERVER_HOST",
                  "0.0.0.0",
                  "CARREL_SERVER_TLS_CERTIFICATE",
                  folder.resolve("certificate.pem").toString(),
                  "CARREL_SERVER_TLS_KEY",
                  folder.resolve("key.pem").toString(),
                  "CARREL_SERVER_PUBLIC_URL",
                  "https://carrel.example",
                  "CARREL_EGRESS_LISTEN",
                  "127.0.0.1:" + taken.getLocalPort()));

      for (Supplier<LocalServer> own : desk.ownServers()) {
        try (LocalServer server = own.get()) {
          URI address = server.endpoint().address();
          assertThat(address.getScheme() + "://" + address.getHost()).isEqualTo("http://127.0.0.1");
        }
      }
      assertThat(desk.carrel("sandbox", "list").code()).isZero();
      assertThat(desk.carrel("run", "-l", "bash", "-c", "echo 42").out()).isEqualTo("42\n");
    }
  }
}
