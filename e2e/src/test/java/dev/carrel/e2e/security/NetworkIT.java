package dev.carrel.e2e.security;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.sun.net.httpserver.HttpServer;
import dev.carrel.bench.ServerProcess;
import dev.carrel.e2e.Api;
import dev.carrel.e2e.Box;
import dev.carrel.e2e.Carrel;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Cases N01 to N08 and N11: what goes out goes through the proxy, and only where it may. The
 * servers that are to be reached, or not, are on this host's loopback; the operator has opened them
 * by name.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class NetworkIT {
  private static final String WEB = "web.example.net";
  private static final String RAW = "raw.example.net";
  private static final String CANARY = "canary-of-the-web-server";

  private final List<String> reached = new CopyOnWriteArrayList<>();
  private final List<String> received = new CopyOnWriteArrayList<>();
  private HttpServer web;
  private ServerSocketChannel raw;
  private ServerProcess server;
  private Api api;

  @BeforeAll
  void serve(@TempDir Path folder) throws Exception {
    web = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    web.createContext(
        "/",
        exchange -> {
          reached.add(exchange.getRequestMethod() + " " + exchange.getRequestURI());
          byte[] body = CANARY.getBytes(StandardCharsets.UTF_8);
          if (exchange.getRequestURI().getPath().equals("/redirect")) {
            exchange.getResponseHeaders().add("Location", exchange.getRequestURI().getQuery());
            exchange.sendResponseHeaders(302, -1);
          } else {
            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body);
          }
          exchange.close();
        });
    web.start();
    raw =
        ServerSocketChannel.open().bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
    Thread.startVirtualThread(this::receive);
    server = Carrel.start(folder, settings());
    api = new Api(server.address(), server.token());
  }

  private static Map<String, String> settings() {
    return Map.of(
        "CARREL_ENGINE_ALLOWED",
        Carrel.ENGINE + ",process",
        "CARREL_EGRESS_HOSTS",
        WEB + "=127.0.0.1," + RAW + "=127.0.0.1",
        "CARREL_EGRESS_LISTEN",
        "127.0.0.1:0",
        "CARREL_EGRESS_ALLOW_OBSERVE",
        "true");
  }

  private void receive() {
    while (raw.isOpen()) {
      try (SocketChannel connection = raw.accept()) {
        ByteBuffer bytes = ByteBuffer.allocate(4096);
        if (connection.read(bytes) <= 0) {
          continue;
        }
        received.add(StandardCharsets.ISO_8859_1.decode(bytes.flip()).toString());
        connection.write(ByteBuffer.wrap("raw answer".getBytes(StandardCharsets.US_ASCII)));
      } catch (IOException e) {
        received.add("broken: " + e);
      }
    }
  }

  @AfterAll
  void end() throws Exception {
    api.close();
    server.close();
    raw.close();
    web.stop(0);
  }

  /** Even a policy that lets everything pass does not lead to what is not the internet. */
  @ParameterizedTest
  @MethodSource("dev.carrel.e2e.Carrel#engines")
  void n01N02NothingButTheInternetIsReached(String engine) {
    try (Box box = observing(engine)) {
      assertThat(ask(box, get(web()))).first().asString().contains(CANARY);
      List<String> addresses =
          List.of(
              "169.254.169.254",
              "[fd00:ec2::254]",
              "100.100.100.200",
              "127.0.0.1",
              "127.255.0.1",
              "[::1]",
              "10.0.0.1",
              "172.17.0.1",
              "192.168.1.1",
              "100.64.0.1",
              "0.0.0.0",
              "224.0.0.1",
              "255.255.255.255",
              "198.18.0.1",
              "[fe80::1]",
              "[fc00::1]",
              "[64:ff9b::7f00:1]",
              "[2002:7f00:1::]",
              "localhost");
      for (String answer :
          ask(box, addresses.stream().map(NetworkIT::get).toArray(String[]::new))) {
        assertThat(answer).startsWith("HTTP/1.1 403 Egress address");
      }
      for (String answer :
          ask(box, addresses.stream().map(host -> connect(host + ":443")).toArray(String[]::new))) {
        assertThat(answer).startsWith("HTTP/1.1 403 Egress address");
      }
    }
  }

  @ParameterizedTest
  @MethodSource("dev.carrel.e2e.Carrel#engines")
  void n01OtherWaysToWriteAnAddressAreNotRead(String engine) {
    try (Box box = observing(engine)) {
      String[] requests =
          List.of(
                  "2852039166",
                  "0xa9fea9fe",
                  "0251.0376.0251.0376",
                  "0xa9.0xfe.0xa9.0xfe",
                  "169.254.43518",
                  "169.16689662",
                  "[::ffff:169.254.169.254]",
                  "[::ffff:a9fe:a9fe]",
                  "[fe80::1%25eth0]",
                  "169.254.169.254..",
                  "127.1",
                  "0177.0.0.1",
                  "0x7f.1")
              .stream()
              .map(NetworkIT::get)
              .toArray(String[]::new);
      for (String answer : ask(box, requests)) {
        assertThat(answer).startsWith("HTTP/1.1 400 Egress malformed");
      }
    }
  }

  @ParameterizedTest
  @MethodSource("dev.carrel.e2e.Carrel#engines")
  void n01RedirectIsJudgedLikeAnyOther(String engine) {
    try (Box box = observing(engine)) {
      String to = "http://" + web() + "/redirect?";
      assertThat(box.shell("curl -sL '" + to + "http://" + web() + "/there'")).contains(CANARY);
      assertThat(box.shell("curl -sL '" + to + "http://169.254.169.254/latest'"))
          .contains("egress_address")
          .doesNotContain(CANARY);
    }
  }

  /** The server fetches these; it has no other way than the sandbox. */
  @Test
  void c07ImportsReachNothingButTheInternetEither() {
    try (Box box = observing(Carrel.ENGINE)) {
      String there = ":" + port() + "/there";
      assertThat(bring(box, "http://" + web() + "/there").get("success").asBoolean()).isTrue();
      reached.clear();
      for (String host : List.of("127.0.0.1", "127.255.0.1", "[::1]", "localhost")) {
        JsonNode refused = bring(box, "http://" + host + there);
        assertThat(refused.get("code").asText()).as(host).isEqualTo("egress_denied");
        assertThat(refused.get("error").asText()).as(host).contains("egress.allow-private");
      }
      for (String written : List.of("2130706433", "0x7f.1", "[::ffff:127.0.0.1]")) {
        assertThat(bring(box, "http://" + written + there).get("success").asBoolean())
            .as(written)
            .isFalse();
      }
      assertThat(reached).isEmpty();
      String leads = "/redirect?http://127.0.0.1" + there;
      JsonNode led = bring(box, "http://" + web() + leads);
      assertThat(led.get("code").asText()).as(led.toString()).isEqualTo("egress_denied");
      assertThat(reached).containsExactly("GET " + leads);
    }
  }

  private JsonNode bring(Box box, String url) {
    ObjectNode body = Api.object();
    body.putArray("files").addObject().put("url", url).put("destination", "brought");
    return api.post(box.path() + "/imports", body).json().at("/files/0");
  }

  @Test
  void n03N08ThereIsNoOtherWayOut() {
    try (Box box = sandbox(Carrel.ENGINE, "\"allow\":[\"" + web() + "\"]")) {
      assertThat(ask(box, get(web()))).first().asString().contains(CANARY);
      String probe =
          """
          import socket
          def probe(name, call):
              try: print(name, 'went out', call())
              except OSError as e: print(name, 'failed')
          def tcp(address, family=socket.AF_INET):
              s = socket.socket(family); s.settimeout(5); s.connect(address)
          def udp(address, family=socket.AF_INET):
              s = socket.socket(family, socket.SOCK_DGRAM); s.sendto(b'x', address)
          probe('tcp4', lambda: tcp(('192.0.2.1', 80)))
          probe('tcp6', lambda: tcp(('2001:db8::1', 80), socket.AF_INET6))
          probe('dns', lambda: udp(('192.0.2.1', 53)))
          probe('dot', lambda: tcp(('192.0.2.1', 853)))
          probe('quic', lambda: udp(('192.0.2.1', 443)))
          probe('udp6', lambda: udp(('2001:db8::1', 443), socket.AF_INET6))
          probe('icmp', lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP).sendto(b'\\x08\\0\\0\\0\\0\\0\\0\\0', ('192.0.2.1', 0)))
          probe('raw', lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP))
          probe('packet', lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
          probe('sctp', lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM, 132))
          probe('host', lambda: tcp(('127.0.0.1', PORT)))
          probe('name', lambda: socket.getaddrinfo('example.com', 80))
          """
              .replace("PORT", Integer.toString(port()));
      box.put("probe.py", probe);
      String output = box.shell("env -u HTTP_PROXY -u http_proxy python3 probe.py");
      assertThat(output).endsWith("exit 0").doesNotContain("went out");
      assertThat(output.lines().filter(line -> line.endsWith("failed"))).hasSize(12);
    }
  }

  @ParameterizedTest
  @MethodSource("dev.carrel.e2e.Carrel#engines")
  void n05NameInTheTlsHelloIsTheHostOfTheTunnel(String engine) {
    String target = RAW + ":" + raw.socket().getLocalPort();
    try (Box box = sandbox(engine, "\"allow\":[\"" + target + "\"]")) {
      received.clear();
      String hello =
          """
          import os, socket, ssl, urllib.parse
          p = urllib.parse.urlsplit(os.environ['HTTP_PROXY'])
          def hello(name):
              c = ssl.create_default_context(); c.check_hostname = False; c.verify_mode = ssl.CERT_NONE
              s = socket.create_connection((p.hostname, p.port), timeout=30)
              s.sendall(b'CONNECT TARGET HTTP/1.1\\r\\nHost: TARGET\\r\\n\\r\\n')
              print(s.recv(1000).split(b'\\r')[0].decode())
              try: c.wrap_socket(s, server_hostname=name)
              except OSError as e: print('ended')
          for name in NAMES: hello(name)
          """
              .replace("TARGET", target);
      box.put("hello.py", hello.replace("NAMES", "['evil.example', None, 'x." + RAW + "']"));
      assertThat(box.shell("python3 hello.py"))
          .isEqualTo("HTTP/1.1 200 Connection established\nended\n".repeat(3) + "exit 0");
      assertThat(received).isEmpty();

      box.put("hello.py", hello.replace("NAMES", "['" + RAW + "']"));
      assertThat(box.shell("python3 hello.py")).endsWith("exit 0");
      assertThat(received).first().asString().startsWith("\u0016\u0003").contains(RAW);
    }
  }

  @ParameterizedTest
  @MethodSource("dev.carrel.e2e.Carrel#engines")
  void n06CheckAndDialSeeTheSameHost(String engine) {
    String host = web();
    try (Box box = sandbox(engine, "\"allow\":[\"" + host + "\"]")) {
      reached.clear();
      String end = "\r\n\r\n";
      List<String> answers =
          ask(
              box,
              "GET http://" + host + "@evil.example/ HTTP/1.1\r\nHost: " + host + end,
              "GET http://evil.example/ HTTP/1.1\r\nHost: " + host + end,
              "GET http://" + host + "/ HTTP/1.1\r\nHost: evil.example" + end,
              "GET http://evil.example#@" + host + "/ HTTP/1.1\r\nHost: " + host + end,
              "GET http://evil.example\0." + host + "/ HTTP/1.1\r\nHost: " + host + end,
              "GET http://" + host + "\t.evil.example/ HTTP/1.1\r\nHost: " + host + end,
              "GET http://evil.example\\@" + host + "/ HTTP/1.1\r\nHost: " + host + end,
              "GET http://" + host + "/ HTTP/1.1\r\nHost: " + host + "\r\nHost: evil.example" + end,
              "POST http://"
                  + host
                  + "/ HTTP/1.1\r\nHost: "
                  + host
                  + "\r\n"
                  + "Content-Length: 5\r\n"
                  + "Transfer-Encoding: chunked\r\n\r\n"
                  + "0\r\n\r\n"
                  + "GET /smuggled HTTP/1.1\r\n"
                  + "Host: x"
                  + end,
              "\u0005\u0001\u0000" + socks("evil.example\0" + WEB, port()));
      assertThat(answers).noneMatch(answer -> answer.contains(CANARY));
      assertThat(answers.subList(0, 9)).allMatch(a -> a.matches("(?s)HTTP/1.1 40[03] Egress .*"));
      assertThat(reached).isEmpty();

      assertThat(ask(box, get(host.toUpperCase(Locale.ROOT)))).first().asString().contains(CANARY);
    }
  }

  @ParameterizedTest
  @MethodSource("dev.carrel.e2e.Carrel#engines")
  void n07TunnelGoesToTheNamedPortAndNoFurther(String engine) {
    String target = RAW + ":" + raw.socket().getLocalPort();
    try (Box box = sandbox(engine, "\"allow\":[\"" + target + "\",\"" + WEB + "\"]")) {
      List<String> answers =
          ask(
              box,
              connect(RAW + ":22"),
              connect(RAW + ":" + port()),
              connect("127.0.0.1:3128"),
              connect(WEB + ":" + port()));
      assertThat(answers).allMatch(answer -> answer.startsWith("HTTP/1.1 403 Egress "));
      received.clear();
      JsonNode tunnel = askParts(box, List.of(connect(target), connect("evil.example:443"))).get(0);
      assertThat(tunnel.asText()).contains("200 Connection established", "raw answer");
      assertThat(received).as("only bytes to the raw server").hasSize(1);
    }
  }

  @Test
  void wayOutAndPolicySurviveAServerThatIsKilled(@TempDir Path own) throws Exception {
    String id;
    ServerProcess first = Carrel.start(own, settings());
    try (Api before = new Api(first.address(), first.token())) {
      id = before.create("{\"network\":{\"allow\":[\"" + web() + "\"]}}").id();
      first.kill();
    }
    try (ServerProcess second = Carrel.start(own, settings());
        Api after = new Api(second.address(), second.token());
        Box box = new Box(after, id, after.get("/api/v1/sandboxes/" + id).json())) {
      assertThat(ask(box, get(web()))).first().asString().contains(CANARY);
      assertThat(ask(box, get("evil.example"))).first().asString().contains("egress_not_allowed");
    }
  }

  private Box observing(String engine) {
    return sandbox(engine, "\"mode\":\"observe\"");
  }

  private Box sandbox(String engine, String policy) {
    return api.create("{\"engine\":\"%s\",\"network\":{%s}}".formatted(engine, policy));
  }

  private static List<String> ask(Box box, String... requests) {
    ArrayNode list = Api.JSON.createArrayNode();
    for (String request : requests) {
      list.add(request);
    }
    var answers = new ArrayList<String>();
    answer(box, list).forEach(answer -> answers.add(answer.asText()));
    return answers;
  }

  private static JsonNode askParts(Box box, List<String> parts) {
    ArrayNode list = Api.JSON.createArrayNode();
    ArrayNode one = list.addArray();
    parts.forEach(one::add);
    return answer(box, list);
  }

  private static JsonNode answer(Box box, ArrayNode requests) {
    try (InputStream script = NetworkIT.class.getResourceAsStream("proxy.py")) {
      box.put("proxy.py", new String(script.readAllBytes(), StandardCharsets.UTF_8));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    box.put("requests.json", requests.toString());
    ObjectNode command = Api.object().put("command", "python3 proxy.py < requests.json");
    JsonNode result = box.api().post(box.path() + "/exec", command).json();
    assertThat(result.path("exit_code").asInt(-1)).as(result.toString()).isZero();
    try {
      return Api.JSON.readTree(result.get("stdout").asText());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private int port() {
    return web.getAddress().getPort();
  }

  private String web() {
    return WEB + ":" + port();
  }

  private static String get(String host) {
    return "GET http://%s/ HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n".formatted(host, host);
  }

  private static String connect(String target) {
    return "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n".formatted(target, target);
  }

  private static String socks(String host, int port) {
    return "\u0005\u0001\u0000\u0003"
        + (char) host.length()
        + host
        + (char) (port >> 8)
        + (char) (port & 0xff);
  }

  /**
   * The same token is good once, and never again in another's name, changed or after its machine.
   */
  @Test
  void n11ATokenIsGoodForItsOwnMachineOnly() {
    ObjectNode network = Api.object();
    network.putObject("network").putArray("allow").add(web());
    try (Box box = api.create(network.put("engine", "process").put("persistent", true).toString());
        Box other = api.create("{\"engine\":\"process\"}")) {
      String good = proxy(box);
      assertThat(through(box, good)).contains(CANARY);
      int before = reached.size();
      String token = good.substring(good.indexOf("jwt_") + 4, good.indexOf('@'));
      String unsigned =
          token.replaceFirst("^[^.]*", "eyJhbGciOiJub25lIn0").replaceFirst("[^.]*$", "");
      for (String bad :
          List.of(
              good.replace("sandbox:jwt_" + token + "@", ""),
              good.replace(token, unsigned),
              good.replace(token, token.substring(0, token.length() - 3)),
              good.replace("jwt_", ""))) {
        assertThat(through(box, bad)).as(bad).contains("407").doesNotContain(CANARY);
      }
      assertThat(through(other, proxy(other))).as("the policy of its own box").contains("403");
      api.call("POST", box.path() + "/stop", "");
      api.call("POST", box.path() + "/start", "");
      assertThat(through(box, good)).as("a token of the former machine").contains("407");
      assertThat(reached).hasSize(before);
      assertThat(through(box, proxy(box))).contains(CANARY);
    }
    try (Box isolated = api.create("{\"engine\":\"" + Carrel.ENGINE + "\"}")) {
      assertThat(through(isolated, proxy(isolated))).as("nothing leads there").contains("000");
    }
    assertThat(api.get("/api/v1/audit?action=egress.token&limit=50").text()).contains("denied");
  }

  private String proxy(Box box) {
    return api.post(box.path() + "/egress/tokens", Api.object()).json().get("proxy_url").asText();
  }

  private String through(Box box, String proxy) {
    return box.shell(
        "curl -s -w ' %{http_code}' --noproxy '' -x '" + proxy + "' http://" + web() + "/; true");
  }
}
