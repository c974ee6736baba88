package dev.carrel.server.e2b;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.protobuf.Message;
import dev.carrel.control.files.FileSettings;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.protocols.filesystem.StatRequest;
import dev.carrel.protocols.filesystem.StatResponse;
import dev.carrel.protocols.process.ListRequest;
import dev.carrel.protocols.process.ListResponse;
import dev.carrel.protocols.process.ProcessConfig;
import dev.carrel.protocols.process.ProcessEvent;
import dev.carrel.protocols.process.StartRequest;
import dev.carrel.protocols.process.StartResponse;
import dev.carrel.server.Eventually;
import dev.carrel.server.LiveServer;
import dev.carrel.server.SharedServer;
import dev.carrel.server.mcp.McpClient;
import dev.carrel.spi.DataSize;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** What clients other than E2B's own could send. */
@ExtendWith(SharedServer.class)
class E2bApiTest {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final byte[] EMPTY = "{}".getBytes(StandardCharsets.US_ASCII);
  private static final Caller ADMIN = new Caller("default", "admin", Caller.Role.ADMIN);

  private final LiveServer server;
  private final HttpClient client =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  E2bApiTest(LiveServer server) {
    this.server = server;
  }

  @Test
  void ofForksThatCannotLiveSoLongNoneIsLeft() throws Exception {
    String key = key("forks");
    String id = create(key).get("sandboxID").asText();
    mostLife("400");
    try {
      HttpResponse<byte[]> forked =
          call(
              "POST",
              "/sandboxes/" + id + "/fork",
              "{\"count\":2,\"timeout\":4000}",
              "X-API-KEY",
              key);
      assertThat(JSON.readTree(forked.body()).findValuesAsText("message"))
          .hasSize(2)
          .allMatch(message -> message.startsWith("max_life_seconds"));
    } finally {
      mostLife("null");
    }
    HttpResponse<byte[]> left = call("GET", "/sandboxes", "", "X-API-KEY", key);
    assertThat(JSON.readTree(left.body()).findValuesAsText("sandboxID")).containsExactly(id);
  }

  private void mostLife(String seconds) {
    String change = "{\"max_life_seconds\":" + seconds + "}";
    LiveServer.Answer changed =
        server.send(
            server
                .request("PATCH", "/api/v1/settings/sandbox", BodyPublishers.ofString(change))
                .setHeader("Authorization", "Bearer " + LiveServer.ADMIN)
                .build());
    assertThat(changed.status()).as(changed.text()).isEqualTo(200);
  }

  @Test
  void aListTakesOddQuestionsAsTheyAre() throws Exception {
    String key = key("lists");
    String id = create(key).get("sandboxID").asText();
    HttpResponse<byte[]> twice =
        call("GET", "/v2/sandboxes?state=running,running", "", "X-API-KEY", key);
    assertThat(JSON.readTree(twice.body()).findValuesAsText("sandboxID")).containsExactly(id);
    HttpResponse<byte[]> beyond =
        call("GET", "/v2/sandboxes?nextToken=2147483647", "", "X-API-KEY", key);
    assertThat(JSON.readTree(beyond.body())).isEmpty();
    assertThat(beyond.headers().firstValue("X-Next-Token")).isEmpty();
  }

  @Test
  void anUpdateOfTheNetworkClosesWhatItDoesNotName() throws Exception {
    String key = key("closing");
    String open = "{\"templateID\":\"base\",\"network\":{\"allowOut\":[\"docs.example\"]}}";
    String id =
        JSON.readTree(call("POST", "/v2/sandboxes", open, "X-API-KEY", key).body())
            .get("sandboxID")
            .asText();
    for (String update :
        List.of(
            "{\"allow_internet_access\":false}",
            "{\"denyOut\":[\"0.0.0.0/0\"]}",
            "{\"denyOut\":[\"bad.example\"]}",
            "{}")) {
      assertThat(reaches(key, id, "{\"allowOut\":[\"docs.example\"]}")).as(update).isTrue();
      assertThat(reaches(key, id, update)).as(update).isFalse();
    }
    assertThat(reaches(key, id, "{\"allow_internet_access\":true}")).isTrue();
  }

  /** Whether anything is open after an update. */
  private boolean reaches(String key, String id, String update) throws Exception {
    String path = "/sandboxes/" + id;
    assertThat(call("PUT", path + "/network", update, "X-API-KEY", key).statusCode())
        .isEqualTo(204);
    return JSON.readTree(call("GET", path, "", "X-API-KEY", key).body())
        .get("allowInternetAccess")
        .asBoolean();
  }

  @Test
  void aRangeOfAddressesIsRefusedWithWhatIsPossible() throws Exception {
    String key = key("ranges");
    for (String range : List.of("0.0.0.0/0", "10.0.0.0/8")) {
      String open = "{\"templateID\":\"base\",\"network\":{\"allowOut\":[\"" + range + "\"]}}";
      HttpResponse<byte[]> refused = call("POST", "/v2/sandboxes", open, "X-API-KEY", key);
      assertThat(refused.statusCode()).isEqualTo(400);
      assertThat(new String(refused.body(), StandardCharsets.UTF_8))
          .contains(range, "*.example.com", "allow_internet_access");
    }
  }

  @Test
  void linksThatLeadInACircleAreThereAndBreakNoWatch() throws Exception {
    JsonNode made = create(key("circles"));
    String watched =
        answer(
                made,
                "filesystem.Filesystem/CreateWatcher",
                "{\"path\":\".\",\"includeEntry\":true}")
            .get("watcherId")
            .asText();
    String line = "ln -s circle circle; echo x > plain";
    HttpResponse<byte[]> ran =
        inside(
            made.get("sandboxID").asText(),
            made.get("envdAccessToken").asText(),
            "/process.Process/Start",
            "application/connect+proto",
            framed(
                StartRequest.newBuilder()
                    .setProcess(
                        ProcessConfig.newBuilder().setCmd("/bin/sh").addArgs("-c").addArgs(line))
                    .build()));
    assertThat(events(ran.body()).getLast().getEnd().getExitCode()).isZero();
    JsonNode entry =
        answer(made, "filesystem.Filesystem/Stat", "{\"path\":\"circle\"}").get("entry");
    assertThat(entry.get("type").asText()).isEqualTo("FILE_TYPE_SYMLINK");
    var seen = new TreeSet<String>();
    String ask = "{\"watcherId\":\"" + watched + "\"}";
    Eventually.until(
        "both are told of",
        () -> {
          seen.addAll(
              answer(made, "filesystem.Filesystem/GetWatcherEvents", ask).findValuesAsText("name"));
          return seen.containsAll(List.of("circle", "plain"));
        });
  }

  @Test
  void aWatchedFolderIsADotToItsWatch() throws Exception {
    JsonNode made = create(key("dots"));
    String folder = "{\"path\":\"short-lived\"}";
    answer(made, "filesystem.Filesystem/MakeDir", folder);
    String watched =
        answer(made, "filesystem.Filesystem/CreateWatcher", folder).get("watcherId").asText();
    answer(made, "filesystem.Filesystem/Remove", folder);
    var seen = new TreeSet<String>();
    String ask = "{\"watcherId\":\"" + watched + "\"}";
    Eventually.until(
        "its end is told",
        () ->
            seen.addAll(
                answer(made, "filesystem.Filesystem/GetWatcherEvents", ask)
                    .findValuesAsText("name")));
    assertThat(seen).containsExactly(".");
  }

  private JsonNode answer(JsonNode sandbox, String method, String question) {
    try {
      HttpResponse<byte[]> answer =
          inside(
              sandbox.get("sandboxID").asText(),
              sandbox.get("envdAccessToken").asText(),
              "/" + method,
              "application/json",
              question.getBytes(StandardCharsets.UTF_8));
      assertThat(answer.statusCode())
          .as(new String(answer.body(), StandardCharsets.UTF_8))
          .isEqualTo(200);
      return JSON.readTree(answer.body());
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void contextsAreListedWithWhereTheyBegin() throws Exception {
    JsonNode made = create(key("places"));
    JsonNode context = answer(made, "contexts", "{\"cwd\":\"/tmp\"}");
    assertThat(context.get("cwd").asText()).isEqualTo("/tmp");
    HttpResponse<byte[]> listed =
        call(
            "GET",
            "/contexts",
            "",
            "E2b-Sandbox-Id",
            made.get("sandboxID").asText(),
            "X-Access-Token",
            made.get("envdAccessToken").asText());
    assertThat(JSON.readTree(listed.body()).findValuesAsText("cwd")).containsExactly("/tmp");
  }

  @Test
  void foldersAreListedAlsoWhereFewEntriesAreAllowed() throws Exception {
    var few = new FileSettings(DataSize.ofMebibytes(1), 2, 2, 2, DataSize.ofMebibytes(1));
    try (LiveServer strict =
        LiveServer.start(LiveServer.settings(), defaults -> defaults.withFiles(few))) {
      var test = new E2bApiTest(strict);
      JsonNode made = test.create(test.key("few"));
      test.answer(made, "filesystem.Filesystem/MakeDir", "{\"path\":\"one\"}");
      JsonNode listed = test.answer(made, "filesystem.Filesystem/ListDir", "{\"path\":\".\"}");
      assertThat(listed.findValuesAsText("name")).containsExactly("one");
      LiveServer.Answer flat = strict.post("/v1/file/list", "{\"path\":\"/workspace\"}");
      assertThat(flat.status()).as(flat.text()).isEqualTo(200);
      String id = strict.sandboxId();
      for (String name : List.of("a", "b", "c")) {
        strict.put("/api/v1/sandboxes/" + id + "/files/" + name, new byte[] {'x', '\n'});
      }
      LiveServer.Answer rest = strict.get("/api/v1/sandboxes/" + id + "/files");
      assertThat(rest.json()).hasSize(2);
      assertThat(rest.header("X-Carrel-Truncated")).isEqualTo("true");
      String search = "{\"pattern\":\"x\",\"output_mode\":\"count\",\"session_id\":\"" + id + "\"}";
      assertThat(new McpClient(strict).call("Grep", search).at("/content/0/text").asText())
          .contains(":1", "only the first");
    }
  }

  @Test
  void aKeyOpensWhatItsTenantHas() throws Exception {
    String key = key("acme");
    JsonNode made = create(key);
    String id = made.get("sandboxID").asText();
    assertThat(call("GET", "/sandboxes/" + id, "", "X-API-KEY", key).statusCode()).isEqualTo(200);
    HttpResponse<byte[]> other = call("GET", "/sandboxes/" + id, "", "X-API-KEY", key("bolt"));
    assertThat(other.statusCode()).isEqualTo(404);
    assertThat(JSON.readTree(other.body()).get("code").asInt()).isEqualTo(404);
    HttpResponse<byte[]> wrong =
        call("GET", "/sandboxes/" + id, "", "X-API-KEY", "e2b_" + "0".repeat(40));
    assertThat(wrong.statusCode()).isEqualTo(401);
    assertThat(JSON.readTree(wrong.body()).get("code").asInt()).isEqualTo(401);
    assertThat(call("GET", "/sandboxes", "", "X-Nothing", "x").statusCode()).isEqualTo(401);
  }

  @Test
  void anAdministratorListsWhatItsOwnTenantHas() throws Exception {
    String others = key("others");
    String id = create(others).get("sandboxID").asText();
    HttpResponse<byte[]> snapshot =
        call("POST", "/sandboxes/" + id + "/snapshots", "{}", "X-API-KEY", others);
    assertThat(snapshot.statusCode()).as(new String(snapshot.body(), UTF_8)).isEqualTo(201);
    String own = create(LiveServer.ADMIN).get("sandboxID").asText();
    for (String path : List.of("/sandboxes", "/v2/sandboxes?order=asc")) {
      HttpResponse<byte[]> listed = call("GET", path, "", "X-API-KEY", LiveServer.ADMIN);
      assertThat(JSON.readTree(listed.body()).findValuesAsText("sandboxID"))
          .contains(own)
          .doesNotContain(id);
    }
    HttpResponse<byte[]> copies = call("GET", "/snapshots", "", "X-API-KEY", LiveServer.ADMIN);
    assertThat(JSON.readTree(copies.body()).findValuesAsText("snapshotID"))
        .doesNotContain(JSON.readTree(snapshot.body()).get("snapshotID").asText());
    assertThat(
            new McpClient(server, "/mcp?tools=security", LiveServer.ADMIN)
                .call("sandbox_stats", "{}")
                .at("/structuredContent/sandboxes")
                .findValuesAsText("session_id"))
        .doesNotContain(id);
  }

  @Test
  void aDeletedKeyOpensNothing() throws Exception {
    var issued = server.control().apiKeys().issue(ADMIN, "brief", Caller.user("acme", "ada"));
    assertThat(call("GET", "/sandboxes", "", "X-API-KEY", issued.secret()).statusCode())
        .isEqualTo(200);
    server.control().apiKeys().delete(ADMIN, issued.key().id());
    assertThat(call("GET", "/sandboxes", "", "X-API-KEY", issued.secret()).statusCode())
        .isEqualTo(401);
  }

  @Test
  void whatOnlyTheCloudHasIsRefusedInWords() throws Exception {
    HttpResponse<byte[]> refused = call("POST", "/v3/templates", "{}", "X-API-KEY", key("acme"));
    assertThat(refused.statusCode()).isEqualTo(501);
    JsonNode body = JSON.readTree(refused.body());
    assertThat(body.get("code").asInt()).isEqualTo(501);
    assertThat(body.get("message").asText()).contains("carrel images");
    assertThat(call("POST", "/v3/templates", "{}", "X-Nothing", "x").statusCode()).isEqualTo(401);
  }

  @Test
  void whatASandboxWouldNotHaveIsRefusedAndNotSwallowed() throws Exception {
    String key = key("mounts");
    for (String asked :
        List.of(
            "\"volumeMounts\":[{\"name\":\"data\",\"path\":\"/mnt/data\"}]",
            "\"mcp\":{\"browserbase\":{}}")) {
      String body = "{\"templateID\":\"base\"," + asked + "}";
      HttpResponse<byte[]> refused = call("POST", "/v2/sandboxes", body, "X-API-KEY", key);
      assertThat(refused.statusCode()).isEqualTo(501);
      assertThat(JSON.readTree(refused.body()).get("message").asText())
          .startsWith(asked.substring(1, asked.indexOf(':') - 1))
          .contains("carrel ");
    }
    for (String nothing :
        List.of("\"volumeMounts\":[]", "\"mcp\":null", "\"volumeMounts\":null,\"mcp\":{}")) {
      String body = "{\"templateID\":\"base\"," + nothing + "}";
      assertThat(call("POST", "/sandboxes", body, "X-API-KEY", key).statusCode()).isEqualTo(201);
    }
  }

  @Test
  void commandsBeginAtTheHomeThatClientsKnow() throws Exception {
    String key = key("homes");
    JsonNode made = create(key);
    String who = "echo $HOME $USER $LOGNAME";
    assertThat(output(made, "", "/bin/sh", "-c", who)).isEqualTo("/home/user user user\n");
    assertThat(output(made, "", "printenv", "PWD")).isEqualTo("/home/user\n");
    assertThat(output(made, "/tmp", "printenv", "PWD")).isEqualTo("/tmp\n");
    String code = "{\"code\":\"import os; os.path.expanduser('~')\"}";
    assertThat(client.send(execute(made, code), BodyHandlers.ofString()).body())
        .contains("/home/user");
    String own = "{\"templateID\":\"base\",\"envVars\":{\"HOME\":\"/tmp\"}}";
    JsonNode other = JSON.readTree(call("POST", "/v2/sandboxes", own, "X-API-KEY", key).body());
    assertThat(output(other, "", "/bin/sh", "-c", who)).isEqualTo("/tmp user user\n");
  }

  private String output(JsonNode sandbox, String cwd, String command, String... arguments)
      throws Exception {
    HttpResponse<byte[]> ran =
        inside(
            sandbox.get("sandboxID").asText(),
            sandbox.get("envdAccessToken").asText(),
            "/process.Process/Start",
            "application/connect+proto",
            framed(
                StartRequest.newBuilder()
                    .setProcess(
                        ProcessConfig.newBuilder()
                            .setCmd(command)
                            .addAllArgs(List.of(arguments))
                            .setCwd(cwd))
                    .setStdin(false)
                    .build()));
    return events(ran.body()).stream()
        .map(event -> event.getData().getStdout().toStringUtf8())
        .collect(Collectors.joining());
  }

  @Test
  void whatWasPausedHasNoEnd() throws Exception {
    String key = key("pauses");
    String brief = "{\"templateID\":\"base\",\"timeout\":4}";
    String id =
        JSON.readTree(call("POST", "/sandboxes", brief, "X-API-KEY", key).body())
            .get("sandboxID")
            .asText();
    String path = "/sandboxes/" + id;
    Instant end = Instant.now().plusSeconds(4);
    assertThat(call("POST", path + "/pause", "{\"memory\":false}", "X-API-KEY", key).statusCode())
        .isEqualTo(204);
    Eventually.until("its time is over", () -> Instant.now().isAfter(end));
    JsonNode paused = JSON.readTree(call("GET", path, "", "X-API-KEY", key).body());
    assertThat(paused.get("state").asText()).isEqualTo("paused");
    assertThat(Instant.parse(paused.get("endAt").asText())).isAfter(end.plusSeconds(3600));
    HttpResponse<byte[]> connected =
        call("POST", path + "/connect", "{\"timeout\":100}", "X-API-KEY", key);
    assertThat(connected.statusCode()).isEqualTo(201);
    JsonNode running = JSON.readTree(call("GET", path, "", "X-API-KEY", key).body());
    assertThat(Instant.parse(running.get("endAt").asText())).isBefore(end.plusSeconds(3600));
  }

  @Test
  void whatACanaryStoppedIsNotBroughtBackByConnecting() throws Exception {
    String bait =
        """
        {"name":"BAIT","value":"a-value-for-nobody","canary":true,"namespace":"bait-e2b"}""";
    assertThat(server.post("/api/v1/vault/secrets", bait).status()).isEqualTo(201);
    LiveServer.Answer made = server.post("/api/v1/sandboxes", "{\"namespace\":\"bait-e2b\"}");
    String id = made.json().get("id").asText();
    String sandbox = "/api/v1/sandboxes/" + id;
    server.post(
        sandbox + "/exec",
        """
        {"command":"printf %s \\"$BAIT\\" | base64; sleep 20","secrets":["BAIT"]}""");
    Eventually.until(
        "it is stopped", () -> server.get(sandbox).json().get("status").asText().equals("stopped"));

    for (String way : List.of("/connect", "/resume")) {
      HttpResponse<byte[]> refused =
          call("POST", "/sandboxes/" + id + way, "{}", "X-API-KEY", LiveServer.ADMIN);
      assertThat(refused.statusCode()).isEqualTo(409);
      assertThat(JSON.readTree(refused.body()).get("message").asText()).contains("BAIT");
    }
    assertThat(server.get(sandbox).json().get("status").asText()).isEqualTo("stopped");
  }

  /** As Python's client of a year ago does when it connects. */
  @Test
  void whoShowsAKeyAsksTheControlPlaneEvenWhenItNamesTheSandbox() throws Exception {
    String key = key("acme");
    String id = create(key).get("sandboxID").asText();
    String path = "/sandboxes/" + id + "/connect";
    HttpResponse<byte[]> connected =
        call("POST", path, "{}", "X-API-KEY", key, "E2b-Sandbox-Id", id);
    assertThat(connected.statusCode()).isEqualTo(200);
    HttpResponse<byte[]> stranger =
        call("POST", path, "{}", "X-API-KEY", key("bolt"), "E2b-Sandbox-Id", id);
    assertThat(stranger.statusCode()).isEqualTo(404);
  }

  @Test
  void theInsideOpensToItsOwnTokenAlone() throws Exception {
    JsonNode one = create(key("acme"));
    JsonNode two = create(key("acme"));
    String id = one.get("sandboxID").asText();
    String own = one.get("envdAccessToken").asText();
    String foreign = two.get("envdAccessToken").asText();
    String list = "/process.Process/List";
    assertThat(inside(id, own, list, "application/json", EMPTY).statusCode()).isEqualTo(200);
    assertThat(inside(id, foreign, list, "application/json", EMPTY).statusCode()).isEqualTo(401);
    assertThat(inside(id, "", list, "application/json", EMPTY).statusCode()).isEqualTo(401);
    assertThat(inside(id, "", "/files?path=x", "text/plain", new byte[0]).statusCode())
        .isEqualTo(401);
    assertThat(inside(id, "", "/contexts", "application/json", EMPTY).statusCode()).isEqualTo(401);
  }

  @Test
  void aBodyThatIsNoWholeGzipIsUnreadable() throws Exception {
    JsonNode made = create(key("acme"));
    var packed = new ByteArrayOutputStream();
    try (var gzip = new GZIPOutputStream(packed)) {
      gzip.write(new byte[100_000]);
    }
    byte[] whole = packed.toByteArray();
    byte[] corrupt = whole.clone();
    corrupt[whole.length - 5] ^= 1;
    HttpRequest.Builder request =
        HttpRequest.newBuilder(server.uri("/files?path=packed"))
            .header("E2b-Sandbox-Id", made.get("sandboxID").asText())
            .header("E2b-Sandbox-Port", "49983")
            .header("X-Access-Token", made.get("envdAccessToken").asText())
            .header("Content-Type", "application/octet-stream")
            .header("Content-Encoding", "gzip");
    for (byte[] body :
        List.of(new byte[0], new byte[20], Arrays.copyOf(whole, whole.length / 2), corrupt)) {
      HttpRequest sent = request.POST(BodyPublishers.ofByteArray(body)).build();
      assertThat(client.send(sent, BodyHandlers.ofString()).statusCode())
          .as("%d bytes", body.length)
          .isEqualTo(400);
    }
    HttpRequest sent = request.POST(BodyPublishers.ofByteArray(whole)).build();
    assertThat(client.send(sent, BodyHandlers.ofString()).statusCode()).isEqualTo(200);
  }

  @Test
  void aCellSeesNoVariablesOfTheCellBeforeIt() throws Exception {
    JsonNode made = create(key("acme"));
    String slow =
        "{\"code\":\"import os, time\\nprint(os.environ['MINE'], flush=True)\\ntime.sleep(2)\","
            + "\"env_vars\":{\"MINE\":\"secret\"}}";
    HttpResponse<InputStream> first =
        client.send(execute(made, slow), BodyHandlers.ofInputStream());
    try (var lines =
        new BufferedReader(new InputStreamReader(first.body(), StandardCharsets.UTF_8))) {
      assertThat(lines.readLine()).contains("secret");
      String next = "{\"code\":\"import os\\nos.environ.get('MINE', 'nothing')\"}";
      assertThat(client.send(execute(made, next), BodyHandlers.ofString()).body())
          .contains("nothing")
          .doesNotContain("secret");
    }
  }

  private HttpRequest execute(JsonNode sandbox, String body) {
    return HttpRequest.newBuilder(server.uri("/execute"))
        .POST(BodyPublishers.ofString(body))
        .header("E2b-Sandbox-Id", sandbox.get("sandboxID").asText())
        .header("E2b-Sandbox-Port", "49999")
        .header("X-Access-Token", sandbox.get("envdAccessToken").asText())
        .header("Content-Type", "application/json")
        .build();
  }

  @Test
  void binaryMessagesAreAsGoodAsJson() throws Exception {
    JsonNode made = create(key("acme"));
    String id = made.get("sandboxID").asText();
    String token = made.get("envdAccessToken").asText();
    HttpResponse<byte[]> list =
        inside(
            id,
            token,
            "/process.Process/List",
            "application/proto",
            ListRequest.getDefaultInstance().toByteArray());
    assertThat(ListResponse.parseFrom(list.body()).getProcessesCount()).isZero();
    HttpResponse<byte[]> stat =
        inside(
            id,
            token,
            "/filesystem.Filesystem/Stat",
            "application/proto",
            StatRequest.newBuilder().setPath(".").build().toByteArray());
    assertThat(StatResponse.parseFrom(stat.body()).getEntry().getPath()).isEqualTo("/home/user");
    var start =
        StartRequest.newBuilder()
            .setProcess(
                ProcessConfig.newBuilder()
                    .setCmd("/bin/sh")
                    .addArgs("-c")
                    .addArgs("echo hi; exit 4"))
            .setStdin(false)
            .build();
    HttpResponse<byte[]> run =
        inside(id, token, "/process.Process/Start", "application/connect+proto", framed(start));
    List<ProcessEvent> events = events(run.body());
    assertThat(events.getFirst().getStart().getPid()).isPositive();
    assertThat(events.get(1).getData().getStdout().toStringUtf8()).isEqualTo("hi\n");
    assertThat(events.getLast().getEnd().getExitCode()).isEqualTo(4);
    assertThat(events.getLast().getEnd().getStatus()).isEqualTo("exit status 4");
  }

  @Test
  void whatIsGoneIsABadGateway() throws Exception {
    String key = key("acme");
    String id = create(key).get("sandboxID").asText();
    assertThat(call("GET", "/health", "", "E2b-Sandbox-Id", id).statusCode()).isEqualTo(204);
    assertThat(call("DELETE", "/sandboxes/" + id, "", "X-API-KEY", key).statusCode())
        .isEqualTo(204);
    HttpResponse<byte[]> gone = call("GET", "/health", "", "E2b-Sandbox-Id", id);
    assertThat(gone.statusCode()).isEqualTo(502);
    assertThat(JSON.readTree(gone.body()).get("message").asText())
        .isEqualTo("The sandbox was not found");
    assertThat(call("GET", "/health", "", "E2b-Sandbox-Id", "nonsense").statusCode())
        .isEqualTo(502);
    assertThat(call("DELETE", "/sandboxes/" + id, "", "X-API-KEY", key).statusCode())
        .isEqualTo(404);
  }

  private String key(String tenant) {
    return server.control().apiKeys().issue(ADMIN, "test", Caller.user(tenant, "ada")).secret();
  }

  private JsonNode create(String key) throws Exception {
    HttpResponse<byte[]> made =
        call("POST", "/v2/sandboxes", "{\"templateID\":\"base\",\"unknown\":1}", "X-API-KEY", key);
    assertThat(made.statusCode()).isEqualTo(201);
    return JSON.readTree(made.body());
  }

  private HttpResponse<byte[]> call(String method, String path, String body, String... headers)
      throws Exception {
    return client.send(
        HttpRequest.newBuilder(server.uri(path))
            .method(
                method, body.isEmpty() ? BodyPublishers.noBody() : BodyPublishers.ofString(body))
            .headers(headers)
            .build(),
        BodyHandlers.ofByteArray());
  }

  private HttpResponse<byte[]> inside(
      String id, String token, String path, String type, byte[] body) throws Exception {
    return client.send(
        HttpRequest.newBuilder(server.uri(path))
            .POST(BodyPublishers.ofByteArray(body))
            .header("E2b-Sandbox-Id", id)
            .header("E2b-Sandbox-Port", "49983")
            .header("X-Access-Token", token)
            .header("Content-Type", type)
            .build(),
        BodyHandlers.ofByteArray());
  }

  private static byte[] framed(Message message) {
    byte[] content = message.toByteArray();
    return ByteBuffer.allocate(5 + content.length)
        .put((byte) 0)
        .putInt(content.length)
        .put(content)
        .array();
  }

  private static List<ProcessEvent> events(byte[] stream) throws Exception {
    var events = new ArrayList<ProcessEvent>();
    try (InputStream bytes = new ByteArrayInputStream(stream);
        var in = new DataInputStream(bytes)) {
      for (int flags = in.read(); flags == 0; flags = in.read()) {
        events.add(StartResponse.parseFrom(in.readNBytes(in.readInt())).getEvent());
      }
    }
    return events;
  }
}
