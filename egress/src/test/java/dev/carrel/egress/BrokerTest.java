package dev.carrel.egress;

import static dev.carrel.egress.FakeBroker.CANARY;
import static dev.carrel.egress.FakeBroker.PLACEHOLDER;
import static dev.carrel.egress.FakeBroker.VALUE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import java.io.IOException;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.KeyStore;
import java.security.cert.X509Certificate;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import javax.net.ssl.SNIHostName;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.TrustManagerFactory;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class BrokerTest {
  private static final String API = "api.example";
  private static final String OTHER = "other.example";

  private @TempDir Path folder;
  private TlsSite site;
  private ProxyFixture fixture;
  private TlsEnds ends;

  @BeforeEach
  void open() throws Exception {
    site = new TlsSite(folder, API);
    List<InetAddress> here = List.of(InetAddress.getLoopbackAddress());
    fixture =
        new ProxyFixture(
            settings ->
                settings.withPinned(
                    Map.of(
                        Host.parse(API), here,
                        Host.parse(OTHER), here,
                        Host.parse(ProxyFixture.WEB), here)));
    ends = new TlsEnds(folder.resolve("ca.pem"), List.of(site.authorityFile(folder)));
    fixture.gate().broker(new FakeBroker(Target.parse(api(), 0), ends));
    allow(api(), OTHER + ":" + site.port(), fixture.web(ProxyFixture.WEB));
  }

  @AfterEach
  void close() throws IOException {
    fixture.close();
    site.close();
  }

  private void allow(String... rules) {
    fixture
        .gate()
        .policy(Policy.NOTHING.withAllow(List.of(rules).stream().map(Rule::parse).toList()));
  }

  private String api() {
    return API + ":" + site.port();
  }

  @Test
  void theHostGetsTheValueInPlaceOfThePlaceholder() throws Exception {
    String basic = base64("user:" + PLACEHOLDER);
    String answer =
        ask(
            "GET /list?key=" + PLACEHOLDER + "&n=1 HTTP/1.1",
            "Authorization: Basic " + basic,
            "X-Api-Key: key=" + PLACEHOLDER + ";",
            "Accept-Encoding: gzip",
            "Range: bytes=0-1");
    assertThat(answer).startsWith("HTTP/1.1 200");
    TlsSite.Seen seen = site.seen.getFirst();
    assertThat(seen.uri()).isEqualTo("/list?key=the%20real%20%26%20true%20value&n=1");
    assertThat(seen.header("Authorization")).isEqualTo("Basic " + base64("user:" + VALUE));
    assertThat(seen.header("X-api-key")).isEqualTo("key=" + VALUE + ";");
    assertThat(seen.header("Host")).isEqualTo(api());
    assertThat(seen.header("Accept-encoding")).isEqualTo("identity");
    assertThat(seen.header("Range")).isEmpty();
  }

  @Test
  void pathsAndBodiesKeepThePlaceholder() throws Exception {
    ask(
        "POST /" + PLACEHOLDER + " HTTP/1.1",
        "Content-Length: " + PLACEHOLDER.length(),
        "",
        PLACEHOLDER);
    assertThat(site.seen.getFirst().uri()).isEqualTo("/" + PLACEHOLDER);
    assertThat(site.seen.getFirst().body()).isEqualTo(PLACEHOLDER);
  }

  @Test
  void whatTheServerSendsBackOfItDoesNotComeIn() throws Exception {
    for (String path : List.of("/whole", "/chunked")) {
      String answer = ask("GET " + path + " HTTP/1.1", "Authorization: Bearer " + PLACEHOLDER);
      assertThat(site.seen.getLast().header("Authorization")).isEqualTo("Bearer " + VALUE);
      assertThat(answer)
          .containsIgnoringCase("X-You-Said: Bearer *****")
          .contains("auth Bearer *****")
          .contains(" end")
          .doesNotContain(VALUE);
    }
  }

  @Test
  void compressedAnswerIsNotPassedOn() throws Exception {
    assertThat(ask("GET /packed HTTP/1.1")).startsWith("HTTP/1.1 502").contains("compressed");
  }

  @Test
  void requestsFollowEachOtherOnOneConnection() throws Exception {
    try (ProxyFixture.Client client = fixture.connect();
        TlsChannel tls = tunnel(client, api(), API, ends)) {
      for (String path : List.of("/one", "/two")) {
        send(tls, "GET " + path + " HTTP/1.1\r\nHost: " + api() + "\r\n\r\n");
        assertThat(until(tls, " end")).contains("uri " + path);
      }
    }
    assertThat(site.seen).hasSize(2);
  }

  @Test
  void otherHostsAreNotLookedInto() throws Exception {
    try (ProxyFixture.Client client = fixture.connect()) {
      SSLEngine engine = engine(API, pem(site.authority()));
      // The certificate is the server's own, although this host resolves to the same place.
      connect(client, OTHER + ":" + site.port());
      var parameters = engine.getSSLParameters();
      parameters.setServerNames(List.of(new SNIHostName(OTHER)));
      engine.setSSLParameters(parameters);
      try (var tls = new TlsChannel(wire(client), engine)) {
        tls.handshake();
        send(
            tls,
            "GET / HTTP/1.1\r\nHost: %s\r\nAuthorization: %s\r\n\r\n"
                .formatted(OTHER, PLACEHOLDER));
        assertThat(until(tls, " end")).contains("auth " + PLACEHOLDER);
      }
    }
    assertThat(site.seen.getFirst().header("Authorization")).isEqualTo(PLACEHOLDER);
  }

  @Test
  void plainHttpNeverGetsTheValue() throws Exception {
    fixture.gate().broker(new FakeBroker(Target.parse(fixture.web(ProxyFixture.WEB), 0), ends));
    fixture.ask(
        "GET http://%s/ HTTP/1.1\r\nHost: %s\r\nAuthorization: %s\r\nConnection: close\r\n\r\n"
            .formatted(fixture.web(ProxyFixture.WEB), fixture.web(ProxyFixture.WEB), PLACEHOLDER));
    assertThat(fixture.seen.getFirst().headers().get("Authorization")).containsExactly(PLACEHOLDER);
  }

  @Test
  void serverThatIsNotWhoItShouldBeGetsNothing() throws Exception {
    // Its certificate is for the other name.
    String target = OTHER + ":" + site.port();
    fixture.gate().broker(new FakeBroker(Target.parse(target, 0), ends));
    assertThat(ask(target, ends, "GET / HTTP/1.1", "Authorization: " + PLACEHOLDER))
        .startsWith("HTTP/1.1 502 Egress tls_failed")
        .contains(OTHER);
    // Its certificate is of an authority that nobody here knows.
    var strict = new TlsEnds(folder.resolve("ca.pem"), List.of());
    fixture.gate().broker(new FakeBroker(Target.parse(api(), 0), strict));
    assertThat(ask(api(), strict, "GET / HTTP/1.1", "Authorization: " + PLACEHOLDER))
        .startsWith("HTTP/1.1 502 Egress tls_failed");
    assertThat(site.seen).isEmpty();
  }

  @Test
  void tunnelNamesOneHostAllTheWay() throws Exception {
    assertThat(ask("GET / HTTP/1.1", "Host: " + OTHER)).startsWith("HTTP/1.1 400");
    assertThat(ask("GET http://" + api() + "/ HTTP/1.1")).startsWith("HTTP/1.1 400");
    assertThat(ask("GET / HTTP/1.1", "Upgrade: websocket", "Connection: upgrade"))
        .startsWith("HTTP/1.1 400");
    try (ProxyFixture.Client client = fixture.connect()) {
      assertThatExceptionOfType(SSLException.class)
          .isThrownBy(() -> tunnel(client, api(), OTHER, ends));
    }
    assertThat(fixture.decisions).anyMatch(decision -> decision.reason() == Reason.TLS_NAME);
    try (ProxyFixture.Client client = fixture.connect()) {
      connect(client, api());
      client.send("GET / HTTP/1.1\r\nHost: " + api() + "\r\n\r\n");
      client.endOutput();
      assertThat(client.rest()).doesNotContain("HTTP");
    }
    assertThat(fixture.decisions).anyMatch(decision -> decision.reason() == Reason.NO_TLS);
    assertThat(site.seen).isEmpty();
  }

  @Test
  void clientThatDoesNotKnowTheAuthorityIsNoted() throws Exception {
    try (ProxyFixture.Client client = fixture.connect()) {
      connect(client, api());
      var tls = new TlsChannel(wire(client), engine(API, pem(site.authority())));
      assertThatExceptionOfType(SSLException.class).isThrownBy(tls::handshake);
      assertThat(client.rest()).isEmpty();
    }
    assertThat(fixture.decisions).anyMatch(decision -> decision.reason() == Reason.TLS_FAILED);
  }

  @Test
  void rulesAboutMethodsAndPathsHoldInside() throws Exception {
    allow(api() + " GET /v1/*");
    assertThat(ask("GET /v1/list HTTP/1.1")).startsWith("HTTP/1.1 200");
    assertThat(ask("GET /v2/list HTTP/1.1")).startsWith("HTTP/1.1 403 Egress method_or_path");
    assertThat(ask("DELETE /v1/list HTTP/1.1")).startsWith("HTTP/1.1 403 Egress method_or_path");
    assertThat(site.seen).hasSize(1);
  }

  @Test
  void canaryDoesNotLeaveInAnythingThatCanBeRead() throws Exception {
    String web = fixture.web(ProxyFixture.WEB);
    assertThat(ask("GET /?x=" + CANARY + " HTTP/1.1")).startsWith("HTTP/1.1 403 Egress canary");
    String plain = "POST http://%s/%s HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\n%s";
    assertThat(fixture.ask(plain.formatted(web, CANARY, web, 1, "x")))
        .startsWith("HTTP/1.1 403 Egress canary");
    assertThat(fixture.ask(plain.formatted(web, "", web, CANARY.length(), CANARY)))
        .doesNotContain("HTTP/1.1 200");
    String named = CANARY + "." + OTHER + ":443";
    assertThat(fixture.ask("CONNECT " + named + " HTTP/1.1\r\nHost: " + named + "\r\n\r\n"))
        .startsWith("HTTP/1.1 403 Egress canary");
    assertThat(site.seen).isEmpty();
    assertThat(fixture.seen).isEmpty();
  }

  @Test
  void nothingReadablePassesWhileSecretsAreUnknown() throws Exception {
    fixture.gate().broker(Broker.UNKNOWN);
    String web = fixture.web(ProxyFixture.WEB);
    assertThat(fixture.ask("GET http://" + web + "/ HTTP/1.1\r\nHost: " + web + "\r\n\r\n"))
        .startsWith("HTTP/1.1 403");
    assertThat(fixture.seen).isEmpty();
  }

  @Test
  void authorityIsKeptAndItsKeyIsNobodyElses() throws Exception {
    Path file = folder.resolve("ca.pem");
    String bundle = ends.bundle();
    assertThat(bundle).doesNotContain("PRIVATE");
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)))
        .isEqualTo("rw-------");
    assertThat(new TlsEnds(file, List.of(site.authorityFile(folder))).bundle()).isEqualTo(bundle);
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-r--r--"));
    assertThatExceptionOfType(IOException.class)
        .isThrownBy(() -> new TlsEnds(file, List.of()).bundle())
        .withMessageContaining("chmod 600");
  }

  private String ask(String... lines) throws Exception {
    return ask(api(), ends, lines);
  }

  /** One request, with a Host if it has none, and the whole answer. */
  private String ask(String target, TlsEnds trusted, String... lines) throws Exception {
    String text = String.join("\r\n", lines);
    int head = text.indexOf("\r\n\r\n");
    String fields = head < 0 ? text : text.substring(0, head);
    String body = head < 0 ? "" : text.substring(head + 4);
    String host = fields.contains("Host: ") ? "" : "\r\nHost: " + target;
    try (ProxyFixture.Client client = fixture.connect();
        TlsChannel tls =
            tunnel(client, target, target.substring(0, target.indexOf(':')), trusted)) {
      send(tls, fields + host + "\r\nConnection: close\r\n\r\n" + body);
      return until(tls, null);
    }
  }

  private static TlsChannel tunnel(
      ProxyFixture.Client client, String target, String name, TlsEnds trusted) throws Exception {
    connect(client, target);
    var tls = new TlsChannel(wire(client), engine(name, trusted.bundle()));
    tls.handshake();
    assertThat(tls.isOpen()).isTrue();
    return tls;
  }

  private static void connect(ProxyFixture.Client client, String target) throws IOException {
    client.send("CONNECT " + target + " HTTP/1.1\r\nHost: " + target + "\r\n\r\n");
    assertThat(client.until("\r\n\r\n")).startsWith("HTTP/1.1 200");
  }

  private static Wire wire(ProxyFixture.Client client) {
    return new Wire(client.channel(), ByteBuffer.allocate(Buffers.SIZE));
  }

  private static String pem(X509Certificate certificate) throws Exception {
    return Pem.encode("CERTIFICATE", certificate.getEncoded());
  }

  private static SSLEngine engine(String name, String trusted) throws Exception {
    KeyStore store = KeyStore.getInstance("PKCS12");
    store.load(null, null);
    int count = 0;
    for (X509Certificate certificate : Pem.certificates(trusted)) {
      store.setCertificateEntry(Integer.toString(count++), certificate);
    }
    TrustManagerFactory factory = TrustManagerFactory.getInstance("PKIX");
    factory.init(store);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(null, factory.getTrustManagers(), null);
    SSLEngine engine = context.createSSLEngine(name, 443);
    engine.setUseClientMode(true);
    SSLParameters parameters = engine.getSSLParameters();
    parameters.setEndpointIdentificationAlgorithm("HTTPS");
    parameters.setServerNames(List.of(new SNIHostName(name)));
    parameters.setApplicationProtocols(new String[] {"h2", "http/1.1"});
    engine.setSSLParameters(parameters);
    return engine;
  }

  private static void send(TlsChannel tls, String text) throws IOException {
    tls.write(ByteBuffer.wrap(text.getBytes(StandardCharsets.ISO_8859_1)));
  }

  /**
   * @param end null: the end of the connection
   */
  private static String until(TlsChannel tls, @Nullable String end) throws IOException {
    var text = new StringBuilder();
    ByteBuffer buffer = ByteBuffer.allocate(1024);
    while (end == null || text.indexOf(end) < 0) {
      if (tls.read(buffer.clear()) < 0) {
        return text.toString();
      }
      text.append(StandardCharsets.ISO_8859_1.decode(buffer.flip()));
    }
    return text.toString();
  }

  private static String base64(String text) {
    return Base64.getEncoder().encodeToString(text.getBytes(StandardCharsets.ISO_8859_1));
  }
}
