package dev.carrel.egress;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.X509Certificate;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executors;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;

/**
 * A server that speaks TLS on this host's loopback, with a certificate of an authority of its own.
 * It answers with what it was sent.
 */
final class TlsSite implements AutoCloseable {
  final List<Seen> seen = new CopyOnWriteArrayList<>();
  private final HttpsServer server;
  private final CertificateAuthority authority;

  record Seen(String uri, Map<String, List<String>> headers, String body) {
    String header(String name) {
      List<String> values = headers.get(name);
      return values == null ? "" : String.join("|", values);
    }
  }

  /**
   * @param folder where its authority is kept
   * @param host whom its certificate is for
   */
  TlsSite(Path folder, String host) throws IOException, GeneralSecurityException {
    authority = CertificateAuthority.openOrCreate(folder.resolve("site.key"));
    server = HttpsServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.setHttpsConfigurator(new HttpsConfigurator(context(Host.parse(host))));
    server.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
    server.createContext("/", this::answer);
    server.start();
  }

  private SSLContext context(Host host) throws IOException, GeneralSecurityException {
    KeyPair keys = CertificateAuthority.newKeys();
    KeyStore store = KeyStore.getInstance("PKCS12");
    store.load(null, null);
    store.setKeyEntry(
        "site",
        keys.getPrivate(),
        new char[0],
        new Certificate[] {authority.issue(host, keys), authority.certificate()});
    KeyManagerFactory factory = KeyManagerFactory.getInstance("PKIX");
    factory.init(store, new char[0]);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(factory.getKeyManagers(), null, null);
    return context;
  }

  private void answer(HttpExchange exchange) throws IOException {
    String body = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.ISO_8859_1);
    var request =
        new Seen(
            exchange.getRequestURI().toString(), Map.copyOf(exchange.getRequestHeaders()), body);
    seen.add(request);
    String told = request.header("Authorization");
    exchange.getResponseHeaders().add("X-You-Said", told);
    if (exchange.getRequestURI().getPath().equals("/packed")) {
      exchange.getResponseHeaders().add("Content-Encoding", "gzip");
    }
    byte[] echo =
        ("uri " + request.uri() + " auth " + told + " end").getBytes(StandardCharsets.UTF_8);
    boolean chunked = exchange.getRequestURI().getPath().equals("/chunked");
    exchange.sendResponseHeaders(200, chunked ? 0 : echo.length);
    exchange.getResponseBody().write(echo);
    exchange.close();
  }

  int port() {
    return server.getAddress().getPort();
  }

  X509Certificate authority() {
    return authority.certificate();
  }

  /** A file with the certificate of its authority. */
  Path authorityFile(Path folder) throws IOException, GeneralSecurityException {
    return Files.writeString(folder.resolve("site.pem"), authority.certificatePem());
  }

  @Override
  public void close() {
    server.stop(0);
  }
}
