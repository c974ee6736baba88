package dev.carrel.server.tools;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import dev.carrel.server.LiveServer;
import dev.carrel.server.SharedServer;
import dev.carrel.server.mcp.McpClient;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** What sessions and runs of their own are given when they begin. */
@ExtendWith(SharedServer.class)
class NewSessionTest {
  private static final String VALUE = "a-value-for-one-session";
  private static final String READ = "import os\nv = os.environ['SESSION_KEY']\nprint(len(v), v)";
  private static final String SEEN = VALUE.length() + " ***REDACTED***\n";

  private final LiveServer server;
  private final McpClient mcp;

  NewSessionTest(LiveServer server) {
    this.server = server;
    this.mcp = new McpClient(server);
  }

  @Test
  void aSessionHasTheSecretsThatItWasBegunWith() {
    String namespace = secretIn("session-lab");
    String session =
        session("{\"namespace\":\"%s\",\"secrets\":[\"SESSION_KEY\"]}".formatted(namespace));
    JsonNode seen =
        done(
            "execute_code", "{\"session_id\":\"%s\",\"code\":%s}".formatted(session, quoted(READ)));
    assertThat(seen.get("stdout").asText()).as(seen.toString()).isEqualTo(SEEN);
  }

  @Test
  void aRunOfItsOwnHasTheSecretsThatItNames() {
    String namespace = secretIn("once-lab");
    JsonNode without =
        done(
            "execute_code",
            "{\"namespace\":\"%s\",\"code\":%s}".formatted(namespace, quoted(READ)));
    assertThat(without.at("/error/type").asText()).isEqualTo("KeyError");
    JsonNode with =
        done(
            "execute_code",
            "{\"namespace\":\"%s\",\"secrets\":[\"SESSION_KEY\"],\"code\":%s}"
                .formatted(namespace, quoted(READ)));
    assertThat(with.get("stdout").asText()).as(with.toString()).isEqualTo(SEEN);
    assertThat(mcp.error("execute_code", "{\"secrets\":[\"NO_SUCH_KEY\"],\"code\":\"1\"}"))
        .contains("NO_SUCH_KEY");
  }

  @Test
  void aCommandHasTheSecretsThatItNames() throws Exception {
    String session = session("{\"namespace\":\"%s\"}".formatted(secretIn("command-lab")));
    String arguments = "{\"session_id\":\"%s\",\"secrets\":[\"SESSION_KEY\"],\"command\":\"%s\"%s}";
    String line = "echo ${#SESSION_KEY} $SESSION_KEY";
    assertThat(
            done("execute_terminal", arguments.formatted(session, line, "")).get("stdout").asText())
        .isEqualTo(SEEN);
    assertThat(mcp.text("Bash", arguments.formatted(session, line, ""))).isEqualTo(SEEN);
    mcp.text(
        "Bash",
        arguments.formatted(
            session, line + " > seen.part; mv seen.part seen", ",\"run_in_background\":true"));
    String wait = "until test -e seen; do sleep 0.05; done; cat seen";
    assertThat(
            mcp.text("Bash", "{\"session_id\":\"%s\",\"command\":\"%s\"}".formatted(session, wait)))
        .isEqualTo(SEEN);
  }

  @Test
  void whatASessionCannotGetAnyMoreIsRefused() {
    String session = session("{\"namespace\":\"later-lab\"}");
    for (String late :
        new String[] {
          "\"secrets\":[\"A\"]",
          "\"allowed_domains\":[\"example.com\"]",
          "\"presets\":[\"packages\"]",
          "\"image\":\"other\"",
          "\"namespace\":\"other\""
        }) {
      assertThat(
              mcp.error(
                  "execute_code",
                  "{\"session_id\":\"%s\",\"code\":\"1\",%s}".formatted(session, late)))
          .contains("invalid_input", late.substring(1, late.indexOf(':') - 1));
    }
    assertThat(
            done(
                    "execute_code",
                    "{\"session_id\":\"%s\",\"code\":\"1\",\"namespace\":\"later-lab\"}"
                        .formatted(session))
                .get("success")
                .asBoolean())
        .isTrue();
  }

  @Test
  void argumentsThatNobodyKnowsAreRefused() throws JsonProcessingException {
    JsonNode failure =
        McpClient.JSON.readTree(mcp.error("create_session", "{\"secret\":[\"SESSION_KEY\"]}"));
    assertThat(failure.get("error").asText()).isEqualTo("INVALID_INPUT");
    assertThat(failure.at("/details/0/type").asText()).isEqualTo("extra_forbidden");
    assertThat(failure.at("/details/0/loc/0").asText()).isEqualTo("secret");
    assertThat(mcp.error("Bash", "{\"command\":\"true\",\"timeout\":1}")).contains("timeout");
  }

  @Test
  void codeIsLookedAtBeforeItRunsIfThatIsWanted() {
    String dangerous = "{\"code\":\"print(eval('6*7'))\",\"validate\":\"%s\"}";
    assertThat(mcp.error("execute_code", dangerous.formatted("reject")))
        .contains("eval", "validate_code");
    assertThat(done("execute_code", dangerous.formatted("warn")).get("stdout").asText())
        .isEqualTo("42\n");
    JsonNode fixed =
        done(
            "execute_code",
            "{\"code\":\"print(math.sqrt(4))\",\"validate\":\"reject\",\"auto_fix\":true}");
    assertThat(fixed.get("stdout").asText()).as(fixed.toString()).isEqualTo("2.0\n");
  }

  @Test
  void aSessionReachesThePresetsThatItWasBegunWith() {
    String session = session("{\"presets\":[\"packages\"],\"allowed_domains\":[\"a.example\"]}");
    JsonNode policy = server.get("/api/v1/sandboxes/" + session + "/egress").json().get("policy");
    assertThat(policy.get("presets").toString()).isEqualTo("[\"packages\"]");
    assertThat(policy.get("allow").toString()).contains("a.example");
    assertThat(mcp.error("create_session", "{\"presets\":[\"everything\"]}"))
        .contains("there is no such preset", "packages");
  }

  @Test
  void aRefusedDependencyNamesNoSessionThatIsGone() {
    SandboxId gone = SandboxId.random();
    SandboxException told =
        Dependencies.refused(
            new SandboxException(
                    ErrorCode.FORBIDDEN,
                    "the policy of sandbox " + gone + " does not let r reach a.example:443")
                .withHint("allow it first: carrel egress set " + gone + " --preset packages"),
            gone);
    assertThat(told.message()).contains("a.example").doesNotContain(gone.value());
    assertThat(told.hint().orElseThrow()).contains("create_session").doesNotContain(gone.value());
  }

  private String secretIn(String namespace) {
    assertThat(
            server
                .post(
                    "/api/v1/vault/secrets",
                    "{\"name\":\"SESSION_KEY\",\"value\":\"%s\",\"namespace\":\"%s\"}"
                        .formatted(VALUE, namespace))
                .status())
        .isEqualTo(201);
    return namespace;
  }

  private String session(String arguments) {
    JsonNode made = done("create_session", arguments);
    assertThat(made.get("success").asBoolean()).as(made.toString()).isTrue();
    return made.get("session_id").asText();
  }

  private JsonNode done(String tool, String arguments) {
    JsonNode result = mcp.call(tool, arguments);
    assertThat(result.has("structuredContent")).as(result.toString()).isTrue();
    return result.get("structuredContent");
  }

  private static String quoted(String text) {
    return McpClient.quoted(text);
  }
}
