package dev.carrel.server.flat;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import dev.carrel.server.LiveServer;
import dev.carrel.server.LiveServer.Answer;
import dev.carrel.server.SharedServer;
import dev.carrel.server.http.Router;
import java.io.IOException;
import java.io.InputStream;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@ExtendWith(SharedServer.class)
@Timeout(120)
class FlatApiTest {
  private final LiveServer server;

  FlatApiTest(LiveServer server) {
    this.server = server;
  }

  private JsonNode data(String path, String body) {
    Answer answer = server.post(path, body);
    assertThat(answer.status()).as(answer.text()).isEqualTo(200);
    assertThat(answer.json().get("code").asInt()).as(answer.text()).isZero();
    return answer.json().path("data");
  }

  private void refused(int code, String message, String path, String body) {
    Answer answer = server.post(path, body);
    assertThat(answer.status()).as(answer.text()).isEqualTo(code);
    assertThat(answer.json().get("code").asInt()).isEqualTo(code);
    assertThat(answer.json().get("message").asText()).contains(message);
    assertThat(answer.json().has("data")).isFalse();
  }

  @Test
  void withoutAValidTokenThereIsOnlyThat() {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(server.uri("/v1/bash/exec"))
            .POST(BodyPublishers.ofString("{\"command\":\"id\"}"));
    refused(server.send(request.build()), "missing authorization header");
    refused(
        server.send(request.setHeader("Authorization", "Basic eDp5").build()),
        "invalid authorization format");
    refused(
        server.send(request.setHeader("Authorization", "Bearer nonsense").build()),
        "invalid token");
    refused(
        server.send(request.setHeader("Authorization", "Bearer ").build()),
        "invalid authorization format");
  }

  private static void refused(Answer answer, String message) {
    assertThat(answer.status()).isEqualTo(401);
    assertThat(answer.json().toString())
        .isEqualTo("{\"code\":401,\"message\":\"" + message + "\"}");
  }

  @Test
  void whatIsCutEndsWithAWholeCharacter() {
    JsonNode ran =
        data(
            "/v1/bash/exec",
            "{\"command\":\"head -c 1048575 /dev/zero | tr '\\\\0' a; printf '\\\\360\\\\237\\\\230\\\\200bcd'\"}");
    String output = ran.get("output").asText();
    assertThat(output).hasSize(1_048_575).endsWith("aaa");
    assertThat(ran.get("truncated").asBoolean()).isTrue();
  }

  @Test
  void aLongListIsWholeOrSaysThatItIsNot() {
    data(
        "/v1/bash/exec",
        "{\"command\":\"mkdir -p many && cd many && seq -f f%g 10000 | xargs touch\"}");
    JsonNode all = data("/v1/file/list", "{\"path\":\"many\"}");
    assertThat(all.get("files")).hasSize(10_000);
    assertThat(all.has("truncated")).isFalse();
    data("/v1/bash/exec", "{\"command\":\"touch many/more\"}");
    JsonNode most = data("/v1/file/list", "{\"path\":\"many\"}");
    assertThat(most.get("files")).hasSize(10_000);
    assertThat(most.get("truncated").asBoolean()).isTrue();
  }

  @Test
  void aFolderBelowAFileDoesNotExist() {
    data("/v1/file/write", "{\"file\":\"flat-file\",\"content\":\"x\"}");
    refused(
        400,
        "working directory does not exist",
        "/v1/bash/exec",
        "{\"command\":\"pwd\",\"cwd\":\"/workspace/flat-file/x\"}");
  }

  @Test
  void aLinkToAFolderIsOneToRunIn(@TempDir Path folder) throws IOException {
    Files.createSymbolicLink(folder.resolve("link"), Path.of("/"));
    Files.createSymbolicLink(folder.resolve("nowhere"), Path.of("/none"));
    String at = "{\"command\":\"pwd -P\",\"cwd\":\"" + folder;
    assertThat(data("/v1/bash/exec", at + "/link\"}").get("output").asText()).isEqualTo("/\n");
    refused(400, "working directory does not exist", "/v1/bash/exec", at + "/nowhere\"}");
  }

  @Test
  void commandsRunInTheCallersOwnComputer() {
    JsonNode ran =
        data(
            "/v1/bash/exec",
            "{\"command\":\"echo $A; echo err >&2; exit 3\",\"env\":{\"A\":\"b\"}}");
    assertThat(ran.get("output").asText()).contains("b\n", "err\n");
    assertThat(ran.get("exit_code").asInt()).isEqualTo(3);
    data("/v1/file/write", "{\"file\":\"mine\",\"content\":\"x\"}");
    HttpRequest bob =
        server
            .request("POST", "/v1/bash/exec", BodyPublishers.ofString("{\"command\":\"ls\"}"))
            .setHeader("Authorization", "Bearer " + LiveServer.BOB)
            .build();
    assertThat(server.send(bob).json().at("/data/output").asText()).doesNotContain("mine");
    HttpRequest other =
        server
            .request("POST", "/v1/bash/exec", BodyPublishers.ofString("{\"command\":\"ls\"}"))
            .header("X-Session-ID", "another")
            .build();
    assertThat(server.send(other).json().at("/data/output").asText()).doesNotContain("mine");
    assertThat(server.get("/v1/sandbox").json().at("/data/os").asText()).isEqualTo("linux");
  }

  @Test
  void aComputerThatStoppedGoesOnWithItsFiles() {
    assertThat(inSession("stopping", "echo x > kept; cat kept")).contains("x");
    JsonNode made = server.get("/api/v1/sandboxes?search=stopping").json().at("/items/0");
    assertThat(made.get("session_key").asText()).isEqualTo("stopping");
    String path = "/api/v1/sandboxes/" + made.get("id").asText();
    Answer stopped = server.post(path + "/stop");
    assertThat(stopped.status()).as(stopped.text()).isEqualTo(200);
    assertThat(inSession("stopping", "cat kept")).contains("x");
    assertThat(server.get(path).json().get("status").asText()).isEqualTo("running");
  }

  private String inSession(String key, String command) {
    String body = "{\"command\":\"" + command + "\"}";
    HttpRequest request =
        server
            .request("POST", "/v1/bash/exec", BodyPublishers.ofString(body))
            .header("X-Session-ID", key)
            .build();
    return server.send(request).json().at("/data/output").asText();
  }

  @Test
  void aCommandThatTakesTooLongKeepsWhatItSaid() {
    JsonNode late =
        data("/v1/bash/exec", "{\"command\":\"echo begun; sleep 99 | cat\",\"timeout_ms\":1500}");
    assertThat(late.get("output").asText())
        .endsWith("\n<bash_metadata>\ncommand timed out after 1500ms\n</bash_metadata>");
    assertThat(late.get("error").asText()).isEqualTo("timed_out");
  }

  @Test
  void aLargeFileIsReadInPiecesAndATooLargeOneNotAtAll() {
    data("/v1/bash/exec", "{\"command\":\"head -c 4194304 /dev/zero > large\"}");
    Answer answer = server.post("/v1/file/read", "{\"file\":\"large\"}");
    assertThat(answer.header("Transfer-Encoding")).isEqualTo("chunked");
    assertThat(answer.json().at("/data/content").asText()).hasSize(4 << 20);
    data("/v1/bash/exec", "{\"command\":\"echo >> large\"}");
    refused(500, "over the limit", "/v1/file/read", "{\"file\":\"large\"}");
    data("/v1/file/delete", "{\"path\":\"large\"}");
  }

  @Test
  void filesAreWrittenReadMovedAndRemoved() {
    data("/v1/file/mkdir", "{\"path\":\"flat/deep\"}");
    data("/v1/file/write", "{\"file\":\"flat/a\",\"content\":\"\"}");
    assertThat(data("/v1/file/read", "{\"file\":\"flat/a\"}").get("content").asText()).isEmpty();
    data("/v1/file/write", "{\"file\":\"flat/a\",\"content\":\"AQL/\",\"base64\":true}");
    assertThat(
            data("/v1/file/read", "{\"file\":\"flat/a\",\"base64\":true}").get("content").asText())
        .isEqualTo("AQL/");
    data("/v1/file/copy", "{\"source\":\"flat/a\",\"destination\":\"flat/new/b\"}");
    data("/v1/file/move", "{\"source\":\"flat/new/b\",\"destination\":\"flat/c\"}");
    JsonNode files = data("/v1/file/list", "{\"path\":\"flat\"}").get("files");
    assertThat(files.findValuesAsText("name")).containsExactlyInAnyOrder("a", "c", "deep", "new");
    assertThat(files.get(0).properties().stream().map(field -> field.getKey()))
        .containsExactlyInAnyOrder("name", "path", "size", "is_dir", "mode", "mod_time_unix");
    assertThat(exists("flat/c")).isTrue();
    data("/v1/file/delete", "{\"path\":\"flat\"}");
    assertThat(exists("flat/c")).isFalse();
    refused(
        500, "not a file", "/v1/file/copy", "{\"source\":\"/workspace\",\"destination\":\"q\"}");
  }

  private boolean exists(String path) {
    return server.get("/v1/file/exists?path=" + path).json().at("/data/exists").asBoolean();
  }

  @Test
  void aSearchInFilesSaysWhatItFound() {
    data("/v1/file/write", "{\"file\":\"grep/a.txt\",\"content\":\"one\\nneedle\\n\"}");
    String search =
        "{\"path\":\"/workspace/grep\",\"pattern\":\"NEEDLE\",\"case_insensitive\":true%s}";
    JsonNode found = data("/v1/grep/search", search.formatted(""));
    assertThat(found.get("output").asText())
        .isEqualTo("Found 1 matches\n/workspace/grep/a.txt:\n  Line 2: needle");
    assertThat(found.get("truncated").asBoolean()).isFalse();
    assertThat(
            data("/v1/grep/search", search.formatted(",\"output_mode\":\"count\""))
                .get("output")
                .asText())
        .isEqualTo("/workspace/grep/a.txt:1");
    assertThat(
            data("/v1/grep/search", "{\"path\":\"/workspace/grep\",\"pattern\":\"nothing\"}")
                .get("output")
                .asText())
        .isEqualTo("No matches found");
  }

  @Test
  void namesAndCountsAreOfAllThatWasFound() {
    data(
        "/v1/bash/exec",
        "{\"command\":\"mkdir -p often && seq 150 > often/a && seq 150 > often/b\"}");
    String search = "{\"path\":\"/workspace/often\",\"pattern\":\"[0-9]\"%s}";
    JsonNode counted = data("/v1/grep/search", search.formatted(",\"output_mode\":\"count\""));
    assertThat(counted.get("output").asText().lines())
        .containsExactlyInAnyOrder("/workspace/often/a:150", "/workspace/often/b:150");
    assertThat(counted.get("truncated").asBoolean()).isFalse();
    JsonNode named = data("/v1/grep/search", search.formatted(",\"output_mode\":\"files_only\""));
    assertThat(named.get("output").asText().lines())
        .containsExactlyInAnyOrder("/workspace/often/a", "/workspace/often/b");
    assertThat(
            data("/v1/grep/search", search.formatted(",\"output_mode\":\"count\",\"limit\":7"))
                .get("truncated")
                .asBoolean())
        .isTrue();
    assertThat(data("/v1/grep/search", search.formatted("")).get("output").asText())
        .contains("only the first are shown");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "/v1/bash/exec|{}|invalid request: command: is required",
        "/v1/bash/exec|{\"command\":\"\"}|invalid request: command",
        "/v1/bash/exec|{\"command\":7}|invalid request: command",
        "/v1/bash/exec|{\"command\":\"x\",\"timeout_ms\":0}|invalid request: timeout_ms",
        "/v1/bash/exec|{\"command\":\"x\",\"env\":[]}|invalid request: env",
        "/v1/bash/exec|{\"command\":\"x\",\"cwd\":\"/none\"}|working directory does not exist:"
            + " /none",
        "/v1/bash/exec/stream|{}|invalid request: command: is required",
        "/v1/bash/exec/stream|{\"command\":\"x\",\"cwd\":\"/none\"}|working directory does not exist",
        "/v1/bash/exec|{\"command\":\"x\",\"run_in_background\":1}|run_in_background",
        "/v1/bash/exec|not json|invalid request: ",
        "/v1/file/read|{}|invalid request: file: is required",
        "/v1/file/write|{\"file\":\"a\"}|invalid request: content",
        "/v1/file/write|{\"file\":\"a\",\"content\":\"?\",\"base64\":true}|not base64",
        "/v1/file/list|{}|invalid request: path",
        "/v1/file/move|{\"source\":\"a\"}|invalid request: destination",
        "/v1/grep/search|{}|invalid request: pattern",
        "/v1/grep/search|{\"pattern\":\"x\",\"output_mode\":\"all\"}|invalid request: output_mode",
        "/v1/web/fetch|{\"url\":\"https://example.com\"}|invalid request: prompt",
        "/v1/web/fetch|{\"url\":\"file:///x\",\"prompt\":\"p\"}|invalid request: url",
        "/v1/web/search|{\"query\":\"x\"}|invalid request: query",
        "/v1/web/search|{\"query\":\"x\",\"num\":50}|invalid request: query",
      })
  void whatIsWrongIsSaidInTheEnvelope(String path, String body, String message) {
    refused(400, message, path, body);
  }

  @Test
  void whatFailsIsSaidInTheEnvelope() {
    refused(500, "none", "/v1/file/read", "{\"file\":\"none\"}");
    refused(
        403,
        "169.254.169.254",
        "/v1/web/fetch",
        "{\"url\":\"http://169.254.169.254/\",\"prompt\":\"p\"}");
    Answer missing = server.get("/v1/file/exists");
    assertThat(missing.status()).isEqualTo(400);
  }

  @Test
  void theDescriptionAndTheRoutesAreTheSame() throws IOException {
    var router = new Router();
    new FlatApi(server.control(), token -> Optional.empty()).addTo(router);
    var routes =
        router.routes().stream()
            .map(route -> route.method() + " " + route.template())
            .collect(Collectors.toCollection(TreeSet::new));
    JsonNode paths;
    try (InputStream in = FlatApi.class.getResourceAsStream("/dev/carrel/server/flat.yaml")) {
      paths = new YAMLMapper().readTree(in).get("paths");
    }
    var described = new TreeSet<String>();
    paths
        .properties()
        .forEach(
            path ->
                path.getValue()
                    .properties()
                    .forEach(
                        method ->
                            described.add(
                                method.getKey().toUpperCase(Locale.ROOT) + " " + path.getKey())));
    assertThat(described).isEqualTo(routes);
    Answer served = server.get("/v1/openapi.json");
    assertThat(served.json().get("paths").properties()).hasSize(paths.size());
    assertThat(List.of(served.status())).containsExactly(200);
  }
}
