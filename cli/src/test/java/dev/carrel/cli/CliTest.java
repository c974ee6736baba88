package dev.carrel.cli;

import static java.util.Map.entry;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.InstanceOfAssertFactories.STRING;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What the command line makes of a server's answers, and of there being none. */
@Timeout(60)
class CliTest {
  private static final String SANDBOX = "/api/v1/sandboxes/sb1";
  private static final String SETTINGS = "/api/v1/settings/sandbox";

  private final Map<String, String> answers = new ConcurrentHashMap<>();
  private volatile boolean truncated;
  private volatile String refusedField = "";
  private final List<String> requests = new CopyOnWriteArrayList<>();
  private final List<String> bodies = new CopyOnWriteArrayList<>();
  @TempDir private Path folder;
  private HttpServer server;

  @BeforeEach
  void serve() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext("/", this::answer);
    server.start();
  }

  @AfterEach
  void stop() {
    server.stop(0);
  }

  private record Outcome(int code, String out, String err) {}

  @Test
  void outputThatIsNoLongerKeptIsMissed() {
    answers.put("GET " + SANDBOX, "{\"id\":\"sb1\"}");
    answers.put("POST " + SANDBOX + "/exec", ended(0, 7, "[]"));

    Outcome partly = carrel("exec", "--key", "k", "sb1", "--", "big");
    assertThat(partly.code()).isEqualTo(125);
    assertThat(partly.out()).isEqualTo("x");
    assertThat(partly.err()).contains("7 bytes of its output are missing");
    assertThat(carrel("exec", "--key", "k", "--json", "sb1", "--", "big"))
        .satisfies(
            json -> {
              assertThat(json.code()).isZero();
              assertThat(json.out()).contains("\"truncated\" : true");
            });

    answers.put("POST " + SANDBOX + "/exec", ended(3, 7, "[]"));
    assertThat(carrel("exec", "--key", "k", "sb1", "--", "big").code()).isEqualTo(3);
  }

  @Test
  void whatWasNotSignedIsSaid() {
    answers.put("GET " + SANDBOX, "{\"id\":\"sb1\"}");
    answers.put(
        "POST " + SANDBOX + "/exec",
        ended(0, 0, "[{\"path\":\"nope\",\"reason\":\"there is no such file\"}]"));

    Outcome outcome = carrel("exec", "--key", "k", "--artifact", "nope", "sb1", "--", "true");

    assertThat(outcome.code()).isZero();
    assertThat(outcome.err()).contains("not signed: nope: there is no such file");
  }

  /** OSC 52 writes to the clipboard; the others hide what stands before them. */
  @Test
  void whatAPackageWroteDoesNotCommandTheTerminal() {
    String hostile = "\\u001b]52;c;cm0=\\u0007 a\\n\\tb\\r\\u009b2K";
    answers.put(
        "POST /api/v1/sandboxes",
        """
        {"id":"sb1","status":"running","image":"host","engine":"native","isolation":"full",
         "limits":{"memory_mb":512,"cpus":1.0,"pids":512,"workspace_mb":1,"tmp_mb":1},
         "packages":[{"manager":"pip","packages":[],"exit_code":1,"stderr":"%s","success":false}]}
        """
            .formatted(hostile));

    Outcome outcome = carrel("sandbox", "create", "--quiet", "--install", "pip:six");

    assertThat(outcome.code()).isEqualTo(1);
    assertThat(outcome.err()).isEqualTo("carrel: pip failed: ?]52;c;cm0=? a\n\tb??2K\n");
  }

  @Test
  void norDoesWhatTheServerSays() {
    answers.put("GET " + SANDBOX, "{\"id\":\"sb1\"}");
    answers.put(
        "POST " + SANDBOX + "/exec",
        ended(127, 0, "[]").replace("\"returned\"", "\"not_started\",\"message\":\"\\u001b[8mx\""));

    assertThat(carrel("exec", "--key", "k", "sb1", "--", "x").err())
        .contains("could not be started: ?[8mx");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "events --follow",
        "audit --follow",
        "approvals ask sb1 a.example --wait",
        "egress a.example --namespace n --wait",
        "egress token sb1",
        "host access request ls --wait",
        "export sb1 f",
        "images pull alpine --detach",
        "images build host --detach"
      })
  void whatOthersMustReachNeedsAServerThatStays(String line) {
    Outcome outcome = alone(line.split(" "));

    assertThat(outcome.code()).isEqualTo(125);
    assertThat(outcome.err()).contains("no server is running; start one: carrel serve");
  }

  @ParameterizedTest
  @ValueSource(strings = {"events", "audit", "export sb1", "egress a.example --namespace n"})
  void whatEndsByItselfIsItsOwnServer(String line) {
    assertThat(alone(line.split(" ")).err()).contains("a server was started");
  }

  @Test
  void aMistypedCommandAsksForNoHost() {
    Outcome typo = carrel("egress", "shw");

    assertThat(typo.code()).isEqualTo(2);
    assertThat(typo.err())
        .contains("no command 'shw'", "did you mean", "show", "--namespace")
        .doesNotContain("index");
    assertThat(requests).isEmpty();
    carrel("egress", "a.example");
    assertThat(requests).containsExactly("POST /api/v1/approvals");
  }

  @Test
  void aSettingThatIsNotThereChangesNothing() {
    answers.put("GET " + SETTINGS, "{\"memory_mb\":512,\"configured\":{\"memory_mb\":512}}");

    for (String[] call :
        new String[][] {
          {"settings", "--json", "foo=1"}, {"settings", "memory_mb=600", "foo=1", "bar="}
        }) {
      Outcome outcome = carrel(call);
      assertThat(outcome.code()).isEqualTo(2);
      assertThat(outcome.out()).isEmpty();
      assertThat(outcome.err()).contains("no such setting: foo").doesNotContain("memory_mb");
    }
    assertThat(requests).containsOnly("GET " + SETTINGS);
  }

  @Test
  void limitsAreSetAndRefusedUnderTheNamesOfTheirOptions() {
    answers.put(
        "PATCH " + SETTINGS,
        """
        {"idle_timeout_seconds":600,"max_life_seconds":86400,"max_queued":7,\
        "configured":{"idle_timeout_seconds":1,"max_life_seconds":1,"max_queued":7}}""");

    Outcome set =
        carrel(
            "limits", "--idle-timeout", "600", "--max-idle-timeout", "900", "--max-life", "86400");

    assertThat(set.code()).as(set.err()).isZero();
    assertThat(set.out())
        .containsPattern("idle_timeout_seconds +600")
        .containsPattern("max_life_seconds +86400")
        .doesNotContain("max_queued");
    assertThat(bodies)
        .containsExactly(
            "{\"idle_timeout_seconds\":600,\"max_idle_timeout_seconds\":900,"
                + "\"max_life_seconds\":86400}");
    Map<String, String> fields =
        Map.of("--ram", "memory_mb", "--max-ram", "max_memory_mb", "--processes", "pids");
    fields.forEach(
        (option, field) -> {
          refusedField = field;
          assertThat(carrel("limits", option, "1").err())
              .startsWith("carrel: " + option + ": no\n");
        });
  }

  @Test
  void aDoctorWhoCouldNotAskSaysSo() {
    answers.put("GET /api/v1/engines", "");

    Outcome outcome = carrel("doctor");

    assertThat(outcome.code()).isEqualTo(125);
    assertThat(outcome.out()).contains("is not known", "CARREL_TOKEN").doesNotContain("No engine");
  }

  @Test
  void optionsBehindACommandAreItsOwn() {
    answers.put("GET " + SANDBOX, "{\"id\":\"sb1\"}");
    answers.put("POST " + SANDBOX + "/exec", ended(0, 0, "[]"));

    for (String line :
        List.of("ls -d /", "-- ls -d /", "git log --json", "rm -- f", "cat - x", "sh -c -- x")) {
      assertThat(carrel(("exec --key k sb1 " + line).split(" ")).code()).as(line).isZero();
    }
    for (String words :
        List.of(
            "[\"ls\",\"-d\",\"/\"]",
            "[\"git\",\"log\",\"--json\"]",
            "[\"rm\",\"--\",\"f\"]",
            "[\"cat\",\"-\",\"x\"]",
            "[\"sh\",\"-c\",\"--\",\"x\"]")) {
      assertThat(requests).contains("POST " + SANDBOX + "/exec " + words);
    }
  }

  @Test
  void aProgramHasItsOwnOptions() throws IOException {
    Path program = Files.writeString(folder.resolve("p.sh"), "echo\n");
    String created = "{\"id\":\"sb1\",\"status\":\"running\"}";
    answers.putAll(
        Map.ofEntries(
            entry("POST /api/v1/sandboxes", created),
            entry("GET " + SANDBOX, created),
            entry("DELETE " + SANDBOX, "{}"),
            entry("PUT " + SANDBOX + "/files/p.sh", "{}"),
            entry("POST " + SANDBOX + "/exec", ended(0, 0, "[]"))));

    Outcome outcome = carrel("run", program.toString(), "-h", "--json", "--timeout", "5", "--");

    assertThat(outcome.err()).isEmpty();
    assertThat(outcome.out()).isEqualTo("x");
    assertThat(requests)
        .anyMatch(request -> request.contains("\"-h\",\"--json\",\"--timeout\",\"5\",\"--\"]"));
  }

  @Test
  void settingsOfAnotherShapeAreLeftAlone() throws IOException {
    Path file = Files.writeString(folder.resolve("m.json"), "{\"mcpServers\": []}");
    Path bytes = Files.write(folder.resolve("b.json"), new byte[] {'"', (byte) 0xff, '"'});

    for (Path one : List.of(file, bytes)) {
      Outcome outcome = carrel("mcp", "install", "claude", "--file", one.toString());
      assertThat(outcome.code()).isEqualTo(125);
      assertThat(outcome.err()).contains("left as it is", "add by hand").doesNotContain("bug");
    }
    assertThat(file).hasContent("{\"mcpServers\": []}");
  }

  @Test
  void settingsThatAreLinkedToStayWhereTheyAre() throws IOException {
    Path real = Files.writeString(folder.resolve("real.json"), "{\"mcpServers\": null}");
    Path link = Files.createSymbolicLink(folder.resolve("link.json"), real);

    assertThat(carrel("mcp", "install", "claude", "--file", link.toString()).code()).isZero();

    assertThat(link).isSymbolicLink();
    assertThat(Files.readString(real)).contains("/opt/carrel/bin/carrel");
  }

  @Test
  void whatIsNotThereCannotBeInspected() {
    answers.put("GET /api/v1/sandboxes", "{\"items\":[],\"total\":0}");
    answers.put("GET /api/v1/vault/secrets", "{\"secrets\":[]}");
    for (String name : List.of("sb1a2b3c", "nope")) {
      answers.put("GET /api/v1/namespaces/" + name + "/budget", "{\"scope\":\"namespace\"}");
    }

    Outcome sandbox = carrel("inspect", "sb1a2b3c");
    Outcome namespace = carrel("inspect", "nope");

    assertThat(sandbox.code()).isEqualTo(125);
    assertThat(sandbox.err()).contains("no sandbox sb1a2b3c", "carrel sandbox list");
    assertThat(namespace.code()).isZero();
    assertThat(namespace.err()).contains("nothing is in namespace nope");
  }

  @Test
  void whoWaitsSaysForWhat() {
    String asked =
        """
        {"id":"ap1","namespace":"n","sandbox_id":"sb1","kind":"egress","subject":"a.example",\
        "scope":"sandbox","reason":"","requester":"me","status":"%s"}\
        """;
    answers.put("POST /api/v1/approvals", asked.formatted("pending"));
    answers.put("GET /api/v1/approvals/ap1", asked.formatted("denied"));

    Outcome outcome = carrel("approvals", "ask", "sb1", "a.example", "--wait");

    assertThat(outcome.code()).isEqualTo(1);
    assertThat(outcome.err()).contains("waiting", "carrel approvals approve", "ap1");
    assertThat(outcome.out()).contains("denied");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "run",
        "run -l cobol -c x",
        "code sb1",
        "code sb1 -c 1 f",
        "sandbox delete",
        "limits budget",
        "settings memory_mb",
        "queue foo",
        "sandbox create --install six",
        "files put sb1 -",
        "approvals approve ap1 --for 8x"
      })
  void whatCannotBeMeantIsWrongUsage(String line) {
    assertThat(alone(line.split(" ")).code()).isEqualTo(2);
  }

  @Test
  void whatIsWrongIsSaidInTheWordsOfWhoTypedIt() {
    assertThat(alone("snadbox", "list").err())
        .contains("there is no command 'snadbox'", "did you mean", "sandbox")
        .doesNotContain("index");
    assertThat(alone("version", "a", "b").err()).contains("nothing is made of 'a', 'b' here");
    assertThat(alone("exec", "-e", "A", "sb1", "ls").err())
        .contains("--env")
        .doesNotContain("option option");
    assertThat(carrel("sandbox", "list").err()).contains("CARREL_TOKEN", "carrel keys create");
    assertThat(Wording.about("nosuch", "no such id: nosuch")).isEqualTo("no such id: nosuch");
    assertThat(Wording.about("a", "cannot be read")).isEqualTo("a: cannot be read");
  }

  @Test
  void helpIsGivenByThatNameToo() {
    assertThat(alone("help")).isEqualTo(alone("--help")).satisfies(CliTest::succeeded);
    assertThat(alone("help", "mcp", "install"))
        .isEqualTo(alone("mcp", "install", "--help"))
        .satisfies(CliTest::succeeded);
    assertThat(alone("help").out()).contains("sandbox", "doctor");
  }

  @Test
  void helpFitsATerminal() {
    helpFits(List.of());
  }

  private void helpFits(List<String> words) {
    List<String> help =
        alone(Stream.concat(words.stream(), Stream.of("--help")).toArray(String[]::new))
            .out()
            .lines()
            .toList();
    assertThat(help).as("carrel %s", words).isNotEmpty().allMatch(line -> line.length() <= 80);
    // Wrapped, an example could not be copied.
    assertThat(
            help.stream()
                .dropWhile(line -> !line.equals("Examples:"))
                .skip(1)
                .takeWhile(line -> !line.isEmpty()))
        .as("carrel %s", words)
        .allMatch(line -> line.startsWith("  "));
    help.stream()
        .dropWhile(line -> !line.equals("Commands:"))
        .skip(1)
        .takeWhile(line -> !line.isEmpty())
        .map(line -> line.substring(2).split("[ ,]", 2)[0])
        .filter(name -> !name.isEmpty())
        .forEach(name -> helpFits(Stream.concat(words.stream(), Stream.of(name)).toList()));
  }

  @Test
  void helpForWhatThereIsNotSaysSo() {
    Outcome nearly = alone("help", "snadbox");
    assertThat(nearly.code()).isEqualTo(2);
    assertThat(nearly.out()).isEmpty();
    assertThat(nearly.err()).contains("there is no command 'snadbox'", "did you mean", "sandbox");

    assertThat(alone("help", "sandbox", "lits"))
        .matches(outcome -> outcome.code() == 2)
        .extracting(Outcome::err, STRING)
        .contains("there is no command 'lits'", "list", "see carrel sandbox --help");
    // What would be a program's is nobody's here.
    assertThat(alone("help", "run", "ls"))
        .matches(outcome -> outcome.code() == 2)
        .extracting(Outcome::err, STRING)
        .contains("nothing is made of 'ls' here");
    assertThat(alone("help", "session")).satisfies(CliTest::succeeded);
    assertThat(alone("help", "help")).satisfies(CliTest::succeeded);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "snadbox",
        "snadbox list",
        "sandbox lits",
        "mcp instal",
        "version a",
        "run --nope"
      })
  void helpBehindWhatThereIsNotIsNone(String line) {
    Outcome without = alone(line.split(" "));
    assertThat(without.code()).isEqualTo(2);
    for (String help : List.of("--help", "-h")) {
      assertThat(alone((line + " " + help).split(" "))).isEqualTo(without);
    }
    assertThat(alone("sandbox", "list", "--help", "more").code()).isEqualTo(2);
  }

  private static void succeeded(Outcome outcome) {
    assertThat(outcome.code()).isZero();
    assertThat(outcome.err()).isEmpty();
  }

  @Test
  void settingsAreListedAsTheyAreInForce() {
    assertThat(alone("serve", "--settings").out())
        .isEqualTo("exec.spill=64MiB\n# set in the command line; default: 512\nsandbox.pids=99\n");
    assertThat(alone("serve", "--settings", "--json").out())
        .contains("\"key\" : \"sandbox.pids\"", "\"value\" : \"99\"", "\"default\" : \"512\"");
  }

  @Test
  void aDirectoryWithMoreThanIsShownSaysSo() {
    answers.put("GET " + SANDBOX, "{\"id\":\"sb1\"}");
    answers.put(
        "GET " + SANDBOX + "/files",
        "[{\"name\":\"a\",\"mode\":\"0644\",\"size\":1,\"type\":\"file\","
            + "\"modified_at\":\"2026-01-01T00:00:00.123456789Z\"}]");
    assertThat(carrel("files", "ls", "sb1"))
        .isEqualTo(new Outcome(0, "0644  1  2026-01-01T00:00:00Z  a\n", ""));
    assertThat(carrel("files", "ls", "--json", "sb1").out()).contains("00:00:00.123456789Z");
    truncated = true;
    for (String line : List.of("files ls sb1", "files ls --json sb1")) {
      Outcome cut = carrel(line.split(" ", -1));
      assertThat(cut.code()).isZero();
      assertThat(cut.out()).contains("a");
      assertThat(cut.err()).contains("there are more entries than these 1");
    }
  }

  private Outcome carrel(String... arguments) {
    URI address = URI.create("http://127.0.0.1:" + server.getAddress().getPort());
    return carrel(Optional.of(new Endpoint(address, "token")), arguments);
  }

  /** Where no server is. */
  private Outcome alone(String... arguments) {
    return carrel(Optional.empty(), arguments);
  }

  private Outcome carrel(Optional<Endpoint> named, String... arguments) {
    var out = new ByteArrayOutputStream();
    var err = new ByteArrayOutputStream();
    int code =
        new Cli(
                new StubHost(named, folder),
                new ByteArrayInputStream(new byte[0]),
                new PrintStream(out, true, StandardCharsets.UTF_8),
                new PrintStream(err, true, StandardCharsets.UTF_8))
            .run(List.of(arguments));
    return new Outcome(
        code, out.toString(StandardCharsets.UTF_8), err.toString(StandardCharsets.UTF_8));
  }

  /** The events of a command that wrote one byte after what is missing. */
  private static String ended(int code, long missing, String skipped) {
    String gap = missing == 0 ? "" : "event: gap\ndata: {\"bytes\":%d}\n\n".formatted(missing);
    return """
        event: started
        data: {"id":"ex1","pid":1,"offset":0}

        %sid: %d
        event: stdout
        data: {"base64":"eA=="}

        event: exited
        data: {"id":"ex1","exit_code":%d,"cause":"returned","files_changed":[],"artifacts":[],\
        "artifacts_skipped":%s}

        """
        .formatted(gap, missing + 1, code, skipped);
  }

  private void answer(HttpExchange exchange) throws IOException {
    String body = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
    String called = exchange.getRequestMethod() + " " + exchange.getRequestURI().getPath();
    int command = body.indexOf("\"command\":[");
    requests.add(
        command < 0
            ? called
            : called
                + " "
                + body.substring(body.indexOf('[', command), body.indexOf(']', command) + 1));
    bodies.add(body);
    String answer = refusedField.isEmpty() ? answers.getOrDefault(called, "") : "";
    boolean known = !answer.isEmpty();
    String problem =
        refusedField.isEmpty()
            ? "{\"code\":\"unauthenticated\",\"detail\":\"no\",\"hint\":\"ask the owner\",\"status\":401}"
            : "{\"code\":\"invalid_input\",\"detail\":\"%1$s: no\",\"field\":\"%1$s\",\"status\":422}"
                .formatted(refusedField);
    byte[] bytes = (known ? answer : problem).getBytes(StandardCharsets.UTF_8);
    exchange
        .getResponseHeaders()
        .set(
            "Content-Type",
            answer.startsWith("event:")
                ? "text/event-stream"
                : known ? "application/json" : "application/problem+json");
    exchange.getResponseHeaders().set("X-Carrel-Truncated", Boolean.toString(truncated));
    exchange.sendResponseHeaders(known ? 200 : 401, bytes.length);
    exchange.getResponseBody().write(bytes);
    exchange.close();
  }
}
