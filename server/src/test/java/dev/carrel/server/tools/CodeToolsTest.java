package dev.carrel.server.tools;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.carrel.server.Eventually;
import dev.carrel.server.LiveServer;
import dev.carrel.server.SharedServer;
import dev.carrel.server.mcp.McpClient;
import dev.carrel.spi.SandboxId;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(SharedServer.class)
class CodeToolsTest {
  private final LiveServer server;
  private final McpClient mcp;

  CodeToolsTest(LiveServer server) {
    this.server = server;
    this.mcp = new McpClient(server);
  }

  @Test
  void aSessionKeepsItsVariables() {
    String session = session("python");
    JsonNode first = execute(session, "x = 20; print('hi')");
    assertThat(first.get("success").asBoolean()).isTrue();
    assertThat(first.get("stdout").asText()).isEqualTo("hi\n");
    assertThat(first.get("result").isNull()).isTrue();
    JsonNode second = execute(session, "x + 22");
    assertThat(second.at("/result/text~1plain").asText()).isEqualTo("42");
    assertThat(second.get("exit_code").asInt()).isZero();
    stop(session);
  }

  @Test
  void aSessionHasALanguageOfItsOwn() {
    String session = session("bash");
    assertThat(execute(session, "echo $((6*7))").get("stdout").asText()).isEqualTo("42\n");
    stop(session);
  }

  @Test
  void codeWithoutASessionRunsInASandboxThatIsGoneAfterwards() {
    int before = sessions();
    JsonNode result = mcp.call("execute_code", "{\"code\":\"1+1\"}");
    assertThat(result.at("/structuredContent/result/text~1plain").asText()).isEqualTo("2");
    assertThat(result.get("structuredContent").has("session_id")).isFalse();
    assertThat(sessions()).isEqualTo(before);
  }

  @Test
  void anErrorOfTheCodeIsAResult() {
    JsonNode result = mcp.call("execute_code", "{\"code\":\"1/0\"}").get("structuredContent");
    assertThat(result.get("success").asBoolean()).isFalse();
    assertThat(result.at("/error/type").asText()).isEqualTo("ZeroDivisionError");
    assertThat(result.get("exit_code").asInt()).isEqualTo(1);
  }

  @Test
  void whatTakesTooLongIsEndedAndSaysSo() {
    JsonNode result =
        mcp.call(
                "execute_code",
                "{\"code\":\"import time\\nprint(1, flush=True)\\ntime.sleep(60)\",\"timeout\":1}")
            .get("structuredContent");
    assertThat(result.get("timed_out").asBoolean()).isTrue();
    assertThat(result.get("exit_code").asInt()).isEqualTo(124);
    assertThat(result.get("stdout").asText()).isEqualTo("1\n");
  }

  @Test
  void aFigureComesAsAnImage() {
    String code =
        """
        import base64
        class Figure:
            def _repr_png_(self):
                return base64.b64decode('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==')
        Figure()
        """;
    JsonNode result = mcp.call("execute_code", "{\"code\":" + McpClient.quoted(code) + "}");
    assertThat(result.at("/content/1/type").asText()).as(result.toString()).isEqualTo("image");
    assertThat(result.at("/content/1/mimeType").asText()).isEqualTo("image/png");
    assertThat(result.at("/structuredContent/display_outputs/0/type").asText())
        .isEqualTo("image/png");
    assertThat(result.at("/content/0/text").asText()).doesNotContain("iVBORw0");
  }

  @Test
  void aLargeResultIsWholeInTheStructuredFormAlone() {
    String code =
        """
        class Large:
            def _repr_html_(self):
                return chr(1) * 2_000_000
        Large()
        """;
    JsonNode result = mcp.call("execute_code", "{\"code\":" + McpClient.quoted(code) + "}");
    assertThat(result.at("/structuredContent/result/text~1html").asText()).hasSize(2_000_000);
    assertThat(result.at("/content/0/text").asText()).hasSizeLessThan(1_000_000).contains("…");
  }

  @Test
  void manyDisplaysDoNotAddUpInTheText() {
    String code = "for i in range(500): display(chr(1) * 2000)";
    JsonNode result = mcp.call("execute_code", "{\"code\":" + McpClient.quoted(code) + "}");
    assertThat(result.at("/structuredContent/display_outputs")).hasSizeGreaterThan(100);
    assertThat(result.at("/content/0/text").asText()).hasSizeLessThan(1_000_000);
  }

  @Test
  void aCommandTellsItsExitCodeAndBothStreams() {
    String session = session("python");
    JsonNode result =
        mcp.call(
                "execute_terminal",
                "{\"session_id\":\"%s\",\"command\":\"echo out; echo err >&2; exit 3\"}"
                    .formatted(session))
            .get("structuredContent");
    assertThat(result.get("exit_code").asInt()).isEqualTo(3);
    assertThat(result.get("stdout").asText()).isEqualTo("out\n");
    assertThat(result.get("stderr").asText()).isEqualTo("err\n");
    assertThat(result.has("success")).isFalse();
    stop(session);
  }

  @Test
  void aSessionIsKnownBehindManyThatHaveEnded() throws Exception {
    var data = new AtomicReference<Path>();
    try (LiveServer busy =
        LiveServer.start(
            LiveServer.settings(),
            usual -> {
              data.set(usual.dataDirectory());
              return usual;
            })) {
      var client = new McpClient(busy);
      String old = client.call("create_session", "{}").at("/structuredContent/session_id").asText();
      ended(data.get(), old, 200);
      JsonNode listed = client.call("list_sessions", "{}").get("structuredContent");
      assertThat(listed.get("sessions")).hasSize(200);
      assertThat(listed.get("truncated").asBoolean()).isTrue();
      JsonNode failure =
          McpClient.JSON.readTree(
              client.error("execute_code", "{\"session_id\":\"nope\",\"code\":\"1\"}"));
      assertThat(failure.get("active_sessions").findValuesAsText("session_id"))
          .containsExactly(old);
    }
  }

  /** As if so many more had been made after one, and stopped. */
  private static void ended(Path data, String like, int count) throws SQLException {
    try (Connection database =
            DriverManager.getConnection("jdbc:sqlite:" + data.resolve("carrel.db"));
        Statement statement = database.createStatement()) {
      database.setAutoCommit(false);
      statement.execute("CREATE TEMP TABLE one AS SELECT * FROM sandbox WHERE id = '" + like + "'");
      statement.execute(
          "UPDATE one SET status = 'stopped', stopped_at = created_at + 1, volume_id = NULL,"
              + " created_at = created_at + 1");
      for (int i = 0; i < count; i++) {
        statement.execute("UPDATE one SET id = '" + SandboxId.random() + "'");
        statement.execute("INSERT INTO sandbox SELECT * FROM one");
      }
      database.commit();
    }
  }

  @Test
  void anUnknownSessionIsAnErrorThatNamesTheOthers() throws Exception {
    String session = session("python");
    JsonNode failure =
        McpClient.JSON.readTree(
            mcp.error("execute_code", "{\"session_id\":\"nope\",\"code\":\"1\"}"));
    assertThat(failure.get("success").asBoolean()).isFalse();
    assertThat(failure.get("error").asText()).isEqualTo("ValueError: Session 'nope' not found");
    assertThat(failure.get("active_sessions").findValuesAsText("session_id")).contains(session);
    assertThat(failure.get("hint").asText()).startsWith("Use one of the active session_ids");
    stop(session);
  }

  @Test
  void anothersSessionDoesNotExist() {
    String bobs =
        server
            .control()
            .sandboxes()
            .create(
                dev.carrel.control.sandbox.Caller.user("bolt", "bob"),
                dev.carrel.control.sandbox.CreateSandbox.defaults())
            .id()
            .value();
    assertThat(mcp.error("execute_code", "{\"session_id\":\"%s\",\"code\":\"1\"}".formatted(bobs)))
        .contains("Session '" + bobs + "' not found")
        .doesNotContain("\"session_id\":\"" + bobs + "\"");
  }

  @Test
  void badArgumentsAreRefusedWithDetails() throws Exception {
    JsonNode failure =
        McpClient.JSON.readTree(mcp.error("execute_code", "{\"code\":\"\",\"timeout\":\"soon\"}"));
    assertThat(failure.get("error").asText()).isEqualTo("INVALID_INPUT");
    assertThat(failure.get("details").findValuesAsText("type"))
        .containsExactlyInAnyOrder("too_short", "type_error");
    assertThat(failure.at("/details/0/loc/0").asText()).isEqualTo("code");
  }

  @Test
  void stoppingWhatIsNotThereIsNoError() {
    String session = session("python");
    stop(session);
    for (String gone : List.of("nope", session)) {
      assertThat(
              mcp.call("stop_session", "{\"session_id\":\"%s\"}".formatted(gone))
                  .at("/structuredContent/success")
                  .asBoolean(true))
          .as(gone)
          .isFalse();
    }
  }

  @Test
  void aDisplayComesInItsRichForm() {
    String code =
        """
        display({'text/plain': 'a picture', 'image/gif': b'GIF89a'}, raw=True)
        class Paper:
            def _repr_mimebundle_(self, include=None, exclude=None):
                return {'application/pdf': b'%PDF-1.4'}
        Paper()
        """;
    JsonNode result = mcp.call("execute_code", "{\"code\":" + McpClient.quoted(code) + "}");
    assertThat(result.at("/structuredContent/display_outputs").findValuesAsText("type"))
        .as(result.toString())
        .containsExactly("image/gif", "application/pdf");
    assertThat(result.at("/content/1/mimeType").asText()).isEqualTo("image/gif");
  }

  @Test
  void packagesWithOptionsInTheirNamesAreRefusedBeforeAnythingIsMade() {
    int before = sessions();
    assertThat(mcp.error("create_session", "{\"dependencies\":{\"--index-url=http://x\":\"\"}}"))
        .contains("is no package of pip");
    // To pip this is a folder.
    assertThat(mcp.error("create_session", "{\"dependencies\":{\"some/folder\":\"\"}}"))
        .contains("is no package of pip");
    // The newest is all that its repository has: another one would not be what was asked for.
    assertThat(
            mcp.error(
                "create_session", "{\"language\":\"r\",\"dependencies\":{\"jsonlite\":\"1.8\"}}"))
        .contains("is no package of r");
    assertThat(sessions()).isEqualTo(before);
  }

  @Test
  void codeIsLookedAtWithoutRunningIt() {
    JsonNode result =
        mcp.call("validate_code", "{\"code\":\"eval('1')\"}").get("structuredContent");
    assertThat(result.get("valid").asBoolean()).isFalse();
    assertThat(result.at("/findings/0/severity").asText()).isEqualTo("critical");
  }

  @Test
  void aSessionCanBeInspected() {
    String session = session("python");
    execute(session, "1");
    JsonNode state =
        mcp.call("inspect_state", "{\"session_id\":\"%s\"}".formatted(session))
            .get("structuredContent");
    assertThat(state.get("status").asText()).isEqualTo("running");
    assertThat(state.at("/interpreters/0/executions").asInt()).isEqualTo(1);
    assertThat(state.at("/limits/memory_mb").asLong()).isPositive();
    stop(session);
  }

  @Test
  void aSessionThatWasStoppedIsStartedAgainByWhoNamesIt() {
    String session = session("python");
    execute(session, "x = 1; open('kept.txt', 'w').write('kept')");
    assertThat(server.post("/api/v1/sandboxes/" + session + "/stop").status()).isEqualTo(200);
    String named = "{\"session_id\":\"%s\"%s}";
    // Who only looks leaves it as it is.
    assertThat(
            mcp.call("inspect_state", named.formatted(session, ""))
                .at("/structuredContent/status")
                .asText())
        .isEqualTo("stopped");
    JsonNode again = execute(session, "open('kept.txt').read()");
    assertThat(again.at("/result/text~1plain").asText()).as(again.toString()).isEqualTo("'kept'");
    assertThat(again.get("hint").asText()).contains("started anew");
    assertThat(server.post("/api/v1/sandboxes/" + session + "/stop").status()).isEqualTo(200);
    String files = ",\"files\":[{\"source\":\"kept.txt\"}]";
    assertThat(
            mcp.call("export_files", named.formatted(session, files))
                .at("/structuredContent/success")
                .asBoolean())
        .isTrue();
    stop(session);
  }

  @Test
  void aSessionThatACanaryStoppedWaitsForAPerson() {
    String bait =
        "{\"name\":\"BAIT\",\"value\":\"a-value-for-nobody\",\"canary\":true,"
            + "\"namespace\":\"bait-lab\"}";
    assertThat(server.post("/api/v1/vault/secrets", bait).status()).isEqualTo(201);
    String session =
        mcp.call("create_session", "{\"namespace\":\"bait-lab\"}")
            .at("/structuredContent/session_id")
            .asText();
    mcp.call(
        "execute_terminal",
        "{\"session_id\":\"%s\",\"secrets\":[\"BAIT\"],\"command\":%s}"
            .formatted(session, McpClient.quoted("printf %s \"$BAIT\" | base64; sleep 20")));
    String sandbox = "/api/v1/sandboxes/" + session;
    Eventually.until(
        "it is stopped", () -> server.get(sandbox).json().get("status").asText().equals("stopped"));
    assertThat(
            mcp.error("execute_code", "{\"session_id\":\"%s\",\"code\":\"1\"}".formatted(session)))
        .contains("is stopped");
    assertThat(server.get(sandbox).json().get("status").asText()).isEqualTo("stopped");
  }

  private String session(String language) {
    JsonNode made =
        mcp.call("create_session", "{\"language\":\"%s\"}".formatted(language))
            .get("structuredContent");
    assertThat(made.get("success").asBoolean()).as(made.toString()).isTrue();
    assertThat(made.get("runtime").asText()).isEqualTo(language);
    return made.get("session_id").asText();
  }

  private JsonNode execute(String session, String code) {
    return mcp.call(
            "execute_code",
            "{\"session_id\":\"%s\",\"code\":%s}".formatted(session, McpClient.quoted(code)))
        .get("structuredContent");
  }

  private void stop(String session) {
    assertThat(
            mcp.call("stop_session", "{\"session_id\":\"%s\"}".formatted(session))
                .at("/structuredContent/success")
                .asBoolean())
        .isTrue();
  }

  private int sessions() {
    return mcp.call("list_sessions", "{}").at("/structuredContent/sessions").size();
  }
}
