package dev.carrel.e2e.functional;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.carrel.bench.ServerProcess;
import dev.carrel.e2e.Carrel;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

/**
 * E2B's packages find sandboxes by name, {@code https://PORT-SANDBOX.DOMAIN}, at a server that
 * speaks TLS itself. Interpreters of a year ago know no other way.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class E2bHostsIT {
  private static final String DOMAIN = "boxes.test";
  private static final char[] PASSWORD = "changeit".toCharArray();
  private static final int TRIES = 5;

  private ServerProcess server;
  private E2bPackages packages;

  @BeforeAll
  void serve(@TempDir Path folder) throws Exception {
    Path certificate = folder.resolve("certificate.pem");
    Path key = folder.resolve("key.pem");
    KeyStore store = makeCertificate(folder.resolve("store.p12"));
    Files.writeString(certificate, pem("CERTIFICATE", store.getCertificate("a").getEncoded()));
    Files.writeString(key, pem("PRIVATE KEY", store.getKey("a", PASSWORD).getEncoded()));
    server = start(folder.resolve("server"), certificate, key);
    packages =
        new E2bPackages(
            Map.of(
                "E2B_DOMAIN", DOMAIN + ":" + server.address().getPort(),
                "E2B_API_KEY", apiKey(store),
                "NODE_EXTRA_CA_CERTS", certificate.toString(),
                "SSL_CERT_FILE", certificate.toString()));
  }

  @AfterAll
  void end() throws Exception {
    server.close();
  }

  @Test
  void javaScriptOfAYearBefore() throws Exception {
    packages.javaScript(E2bPackages.NPM_A_YEAR_BEFORE, "all", "--import", "./loopback.mjs");
  }

  @Test
  void pythonOfAYearBefore() throws Exception {
    packages.python(E2bPackages.PYPI_A_YEAR_BEFORE, "all");
  }

  /** Clients are told the port with the domain, so it is chosen first; another may take it then. */
  private static ServerProcess start(Path folder, Path certificate, Path key) throws Exception {
    for (int left = TRIES; ; left--) {
      int port;
      try (var free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
        port = free.getLocalPort();
      }
      try {
        return Carrel.start(
            folder,
            Map.of(
                "CARREL_SERVER_PORT", String.valueOf(port),
                "CARREL_GRPC_PORT", "0",
                "CARREL_SERVER_SANDBOX_DOMAIN", DOMAIN + ":" + port,
                "CARREL_SERVER_TLS_CERTIFICATE", certificate.toString(),
                "CARREL_SERVER_TLS_KEY", key.toString()));
      } catch (IOException e) {
        if (left == 1 || !String.valueOf(e.getMessage()).contains("cannot listen")) {
          throw e;
        }
      }
    }
  }

  private String apiKey(KeyStore trusted) throws Exception {
    var trust = TrustManagerFactory.getInstance("PKIX");
    var certificates = KeyStore.getInstance("PKCS12");
    certificates.load(null, null);
    certificates.setCertificateEntry("a", trusted.getCertificate("a"));
    trust.init(certificates);
    SSLContext tls = SSLContext.getInstance("TLS");
    tls.init(null, trust.getTrustManagers(), null);
    try (HttpClient client = HttpClient.newBuilder().sslContext(tls).build()) {
      HttpResponse<String> answer =
          client.send(
              HttpRequest.newBuilder(server.address().resolve("/api/v1/keys"))
                  .header("Authorization", "Bearer " + server.token())
                  .header("Content-Type", "application/json")
                  .POST(
                      BodyPublishers.ofString(
                          "{\"name\":\"e2e\",\"tenant\":\"acme\",\"principal\":\"ada\"}"))
                  .build(),
              BodyHandlers.ofString());
      return new ObjectMapper().readTree(answer.body()).get("key").asText();
    }
  }

  private static KeyStore makeCertificate(Path store) throws Exception {
    Process made =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
                "-genkeypair",
                "-alias",
                "a",
                "-keyalg",
                "EC",
                "-dname",
                "CN=" + DOMAIN,
                "-ext",
                "san=dns:*." + DOMAIN + ",ip:127.0.0.1",
                "-validity",
                "2",
                "-storetype",
                "PKCS12",
                "-keystore",
                store.toString(),
                "-storepass",
                String.valueOf(PASSWORD))
            .redirectErrorStream(true)
            .start();
    String said = new String(made.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(made.waitFor()).as(said).isZero();
    return KeyStore.getInstance(store.toFile(), PASSWORD);
  }

  private static String pem(String kind, byte[] bytes) {
    String body = Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(bytes);
    return String.join(
        "\n", List.of("-----BEGIN " + kind + "-----", body, "-----END " + kind + "-----", ""));
  }
}
