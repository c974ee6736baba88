package dev.carrel.e2e.security;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsServer;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executors;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;

/**
 * A server on this host's loopback, by TLS and plainly, that answers with all that it was sent. Its
 * certificate is for the names it was given, and vouches for itself.
 */
final class EchoSite implements AutoCloseable {
  private static final String PASSWORD = "not-secret";

  /** What reached it, by either way. */
  final List<String> received = new CopyOnWriteArrayList<>();

  private final HttpsServer secure;
  private final HttpServer plain;
  private final Path certificate;

  EchoSite(Path folder, String... names) throws Exception {
    Path keys = folder.resolve("site.p12");
    certificate = folder.resolve("site.pem");
    String alternatives = "dns:" + String.join(",dns:", names);
    keytool(
        "-genkeypair",
        "-alias",
        "site",
        "-keyalg",
        "EC",
        "-dname",
        "CN=site",
        "-keystore",
        keys.toString(),
        "-storetype",
        "PKCS12",
        "-storepass",
        PASSWORD,
        "-ext",
        "san=" + alternatives);
    keytool(
        "-exportcert",
        "-rfc",
        "-alias",
        "site",
        "-keystore",
        keys.toString(),
        "-storepass",
        PASSWORD,
        "-file",
        certificate.toString());
    secure = HttpsServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    secure.setHttpsConfigurator(new HttpsConfigurator(context(keys)));
    plain = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    for (HttpServer server : List.of(secure, plain)) {
      server.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
      server.createContext("/", this::answer);
      server.start();
    }
  }

  private static void keytool(String... arguments) throws IOException, InterruptedException {
    var command = new ArrayList<String>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "keytool").toString());
    command.addAll(List.of(arguments));
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    if (process.waitFor() != 0) {
      throw new IOException("keytool: " + output);
    }
  }

  private static SSLContext context(Path keys) throws IOException, GeneralSecurityException {
    KeyStore store = KeyStore.getInstance("PKCS12");
    try (InputStream in = Files.newInputStream(keys)) {
      store.load(in, PASSWORD.toCharArray());
    }
    KeyManagerFactory factory = KeyManagerFactory.getInstance("PKIX");
    factory.init(store, PASSWORD.toCharArray());
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(factory.getKeyManagers(), null, null);
    return context;
  }

  private void answer(HttpExchange exchange) throws IOException {
    try (exchange) {
      String body =
          new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.ISO_8859_1);
      String all =
          "%s %s\n%s\n%s\n"
              .formatted(
                  exchange.getRequestMethod(),
                  exchange.getRequestURI(),
                  new TreeMap<>(exchange.getRequestHeaders()),
                  body);
      received.add(all);
      String told = exchange.getRequestHeaders().getFirst("Authorization");
      exchange.getResponseHeaders().add("X-Echo", told == null ? "none" : told);
      byte[] bytes = all.getBytes(StandardCharsets.UTF_8);
      boolean chunked = exchange.getRequestURI().getPath().equals("/chunked");
      exchange.sendResponseHeaders(200, chunked ? 0 : bytes.length);
      exchange.getResponseBody().write(bytes);
    }
  }

  int securePort() {
    return secure.getAddress().getPort();
  }

  int plainPort() {
    return plain.getAddress().getPort();
  }

  Path certificate() {
    return certificate;
  }

  @Override
  public void close() {
    secure.stop(0);
    plain.stop(0);
  }
}
