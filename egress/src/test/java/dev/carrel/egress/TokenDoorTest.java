package dev.carrel.egress;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.JWSHeader;
import com.nimbusds.jose.crypto.MACSigner;
import com.nimbusds.jwt.JWTClaimsSet;
import com.nimbusds.jwt.PlainJWT;
import com.nimbusds.jwt.SignedJWT;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Base64;
import java.util.Date;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Case N11: who comes over TCP is who its token says, or nobody. */
class TokenDoorTest {
  private static final byte[] KEY =
      "0123456789abcdef0123456789abcdef".getBytes(StandardCharsets.US_ASCII);
  private static final Tokens.Bearer BEARER = new Tokens.Bearer("sbtest", "acme", "1", null);

  private final Tokens tokens = new Tokens(KEY);
  private final List<String> turnedAway = new CopyOnWriteArrayList<>();
  private ProxyFixture fixture;
  private InetSocketAddress door;

  @BeforeEach
  void open() throws IOException {
    fixture = new ProxyFixture();
    door =
        fixture
            .proxy()
            .listen(
                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                tokens,
                new TokenDoor.Keeper() {
                  @Override
                  public @Nullable Gate find(Tokens.Bearer bearer) {
                    boolean known =
                        bearer.sandbox().equals("sbtest")
                            && bearer.tenant().equals("acme")
                            && bearer.machine().equals("1");
                    return known ? fixture.gate() : null;
                  }

                  @Override
                  public void refused(String from, String why) {
                    turnedAway.add(why);
                  }
                });
  }

  @AfterEach
  void close() throws IOException {
    fixture.close();
  }

  private String issued(Tokens.Bearer bearer) {
    return tokens.issue(bearer, Instant.now().plusSeconds(60));
  }

  private static String signed(
      UnaryOperator<JWTClaimsSet.Builder> change, JWSAlgorithm with, byte[] key) throws Exception {
    var claims =
        new JWTClaimsSet.Builder()
            .issuer("sandbox-egress-control")
            .claim("session_id", "sbtest")
            .claim("tenant_id", "acme")
            .claim("machine", "1")
            .expirationTime(Date.from(Instant.now().plusSeconds(60)));
    var token = new SignedJWT(new JWSHeader(with), change.apply(claims).build());
    token.sign(new MACSigner(key));
    return token.serialize();
  }

  private ProxyFixture.Client connect() throws IOException {
    return new ProxyFixture.Client(SocketChannel.open(door));
  }

  private static String basic(String pair) {
    return "Proxy-Authorization: Basic "
        + Base64.getEncoder().encodeToString(pair.getBytes(StandardCharsets.ISO_8859_1))
        + "\r\n";
  }

  private String get(String host, String authorization) {
    String target = fixture.web(host);
    return "GET http://%s/ HTTP/1.1\r\nHost: %s\r\n%s\r\n".formatted(target, target, authorization);
  }

  private String ask(String authorization) throws IOException {
    try (var client = connect()) {
      client.send(get(ProxyFixture.WEB, authorization));
      client.endOutput();
      return client.rest();
    }
  }

  private String askWith(String token) throws IOException {
    return ask(basic("sandbox:jwt_" + token));
  }

  @Test
  void aTokenOpensTheGateOfItsSandbox() throws Exception {
    assertThat(askWith(issued(BEARER))).startsWith("HTTP/1.1 200");
    assertThat(fixture.seen).hasSize(1);
    assertThat(fixture.seen.getFirst().headers())
        .as("the token stays at the proxy")
        .doesNotContainKey("Proxy-authorization");
    assertThat(turnedAway).isEmpty();
  }

  @Test
  void nobodyPassesWithoutOne() throws Exception {
    String answer = ask("");
    assertThat(answer).startsWith("HTTP/1.1 407").contains("Proxy-Authenticate: Basic");
    assertThat(ask(basic("sandbox:" + issued(BEARER)))).startsWith("HTTP/1.1 407");
    assertThat(ask(basic("sandbox:jwt_"))).startsWith("HTTP/1.1 407");
    assertThat(ask("Proxy-Authorization: Basic ?\r\n")).startsWith("HTTP/1.1 407");
    String good = basic("sandbox:jwt_" + issued(BEARER));
    assertThat(ask(good + good)).as("two of them").startsWith("HTTP/1.1 407");
    assertThat(fixture.seen).isEmpty();
    assertThat(turnedAway).hasSize(5);
  }

  @Test
  void forgedOnesAreRefused() throws Exception {
    byte[] other = "another key another key another!".getBytes(StandardCharsets.US_ASCII);
    String good = issued(BEARER);
    var unsigned = new PlainJWT(SignedJWT.parse(good).getJWTClaimsSet()).serialize();
    for (String token :
        List.of(
            unsigned,
            unsigned + good.substring(good.lastIndexOf('.') + 1),
            signed(claims -> claims, JWSAlgorithm.HS256, other),
            signed(claims -> claims, JWSAlgorithm.HS512, new byte[64]),
            good.substring(0, good.length() - 2),
            good.replaceFirst("\\.[^.]*\\.", "." + tampered() + "."),
            "x.y.z",
            "a".repeat(10_000))) {
      assertThat(askWith(token)).as(token).startsWith("HTTP/1.1 407");
    }
    assertThat(fixture.seen).isEmpty();
    assertThat(turnedAway).hasSize(8);
  }

  private static String tampered() {
    return Base64.getUrlEncoder()
        .withoutPadding()
        .encodeToString(
            "{\"iss\":\"sandbox-egress-control\",\"session_id\":\"sbtest\",\"tenant_id\":\"acme\",\"machine\":\"1\",\"exp\":9999999999}"
                .getBytes(StandardCharsets.US_ASCII));
  }

  @Test
  void expiredForeignAndFormerOnesAreRefused() throws Exception {
    for (String token :
        List.of(
            tokens.issue(BEARER, Instant.now().minusSeconds(1)),
            signed(claims -> claims.expirationTime(null), JWSAlgorithm.HS256, KEY),
            signed(
                claims -> claims.notBeforeTime(Date.from(Instant.now().plusSeconds(60))),
                JWSAlgorithm.HS256,
                KEY),
            signed(claims -> claims.issuer("somebody"), JWSAlgorithm.HS256, KEY),
            signed(claims -> claims.claim("session_id", null), JWSAlgorithm.HS256, KEY),
            signed(claims -> claims.claim("allowed_hosts", "*"), JWSAlgorithm.HS256, KEY),
            issued(new Tokens.Bearer("sbother", "acme", "1", null)),
            issued(new Tokens.Bearer("sbtest", "other", "1", null)),
            issued(new Tokens.Bearer("sbtest", "acme", "0", null)))) {
      assertThat(askWith(token)).as(token).startsWith("HTTP/1.1 407");
    }
    assertThat(fixture.seen).isEmpty();
  }

  @Test
  void everyRequestOfAConnectionNeedsIt() throws Exception {
    try (var client = connect()) {
      client.send(get(ProxyFixture.WEB, basic("sandbox:jwt_" + issued(BEARER))));
      assertThat(client.until("you sent 0")).startsWith("HTTP/1.1 200");
      client.send(get(ProxyFixture.WEB, ""));
      assertThat(client.rest()).startsWith("HTTP/1.1 407");
    }
    assertThat(fixture.seen).hasSize(1);
  }

  @Test
  void itsHostsBoundThePolicyAndDoNotWidenIt() throws Exception {
    List<HostPattern> web = List.of(HostPattern.parse(ProxyFixture.WEB));
    List<HostPattern> other = List.of(HostPattern.parse("*.elsewhere.example"));
    assertThat(askWith(issued(new Tokens.Bearer("sbtest", "acme", "1", web))))
        .startsWith("HTTP/1.1 200");
    assertThat(askWith(issued(new Tokens.Bearer("sbtest", "acme", "1", other))))
        .startsWith("HTTP/1.1 403");
    assertThat(askWith(issued(new Tokens.Bearer("sbtest", "acme", "1", List.of()))))
        .startsWith("HTTP/1.1 403");
    fixture.gate().policy(Policy.NOTHING);
    assertThat(askWith(issued(new Tokens.Bearer("sbtest", "acme", "1", web))))
        .startsWith("HTTP/1.1 403");
    assertThat(fixture.seen).hasSize(1);
  }

  @Test
  void tunnelsNeedItToo() throws Exception {
    String echo = ProxyFixture.ECHO + ":" + fixture.echoPort();
    String connect = "CONNECT %s HTTP/1.1\r\nHost: %s\r\n%s\r\n";
    try (var client = connect()) {
      client.send(connect.formatted(echo, echo, basic("sandbox:jwt_" + issued(BEARER))));
      assertThat(client.until("\r\n\r\n")).startsWith("HTTP/1.1 200");
      client.send("hello");
      assertThat(client.text(5)).isEqualTo("hello");
    }
    try (var client = connect()) {
      client.send(connect.formatted(echo, echo, ""));
      assertThat(client.rest()).startsWith("HTTP/1.1 407");
    }
  }

  @Test
  void socksHasNoPlaceForOne() throws Exception {
    try (var client = connect()) {
      client.send(new byte[] {5, 1, 0});
      client.endOutput();
      assertThat(client.rest()).doesNotStartWith("\u0005\u0000");
    }
  }

  @Test
  void aShortKeyIsNoKey() {
    assertThatThrownBy(() -> new Tokens(new byte[16])).isInstanceOf(IllegalArgumentException.class);
  }
}
