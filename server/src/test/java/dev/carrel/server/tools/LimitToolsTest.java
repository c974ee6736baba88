package dev.carrel.server.tools;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.carrel.server.LiveServer;
import dev.carrel.server.SharedServer;
import dev.carrel.server.mcp.McpClient;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(SharedServer.class)
class LimitToolsTest {
  private static final String SECURITY = "/mcp?tools=security";

  private final LiveServer server;
  private final McpClient mcp;
  private final McpClient security;

  LimitToolsTest(LiveServer server) {
    this.server = server;
    this.mcp = new McpClient(server);
    this.security = new McpClient(server, SECURITY);
  }

  @Test
  void aSessionHasTheLimitsAndTheImageThatItWasBegunWith() {
    JsonNode state =
        state(
            session(
                "{\"image\":\"host\",\"resource_limits\":"
                    + "{\"max_ram_mb\":1024,\"max_cpu_cores\":0.5,\"max_processes\":300}}"));
    assertThat(state.get("image").asText()).isEqualTo("host");
    assertThat(state.at("/limits/memory_mb").asInt()).isEqualTo(1024);
    assertThat(state.at("/limits/cpu_cores").asDouble()).isEqualTo(0.5);
    assertThat(state.at("/limits/processes").asInt()).isEqualTo(300);
  }

  @Test
  void whatIsNotThereOrTooMuchIsRefused() {
    assertThat(mcp.error("create_session", "{\"image\":\"nosuch\"}")).contains("nosuch");
    assertThat(mcp.error("execute_code", "{\"code\":\"1\",\"image\":\"nosuch\"}"))
        .contains("nosuch");
    assertThat(mcp.error("create_session", "{\"resource_limits\":{\"max_ram_mb\":100000}}"))
        .contains("invalid_input", "must be at most 65536");
    assertThat(mcp.error("create_session", "{\"resource_limits\":{\"memory\":1}}"))
        .contains("INVALID_INPUT", "extra_forbidden");
    String session = session("{}");
    assertThat(
            mcp.error(
                "execute_code",
                "{\"session_id\":\"%s\",\"code\":\"1\",\"resource_limits\":{\"max_ram_mb\":64}}"
                    .formatted(session)))
        .contains("set_resource_limits");
  }

  /** It sleeps for longer than it may, and for less than is usual. */
  @Test
  void aRunHasItsOwnTimeAndOutput() {
    String code = "import time\nprint('äb' * 10, flush=True)\ntime.sleep(10)";
    JsonNode cut =
        mcp.call(
                "execute_code",
                "{\"session_id\":\"%s\",\"code\":%s,\"resource_limits\":%s}"
                    .formatted(
                        session("{}"),
                        McpClient.quoted(code),
                        "{\"timeout_seconds\":1,\"max_output_bytes\":7}"))
            .get("structuredContent");
    assertThat(cut.get("timed_out").asBoolean()).as(cut.toString()).isTrue();
    assertThat(cut.get("stdout").asText()).isEqualTo("äbäb");
    assertThat(cut.get("truncated").asBoolean()).isTrue();
  }

  @Test
  void theLimitsOfASessionCanBeSet() {
    String session = session("{}");
    assertThat(server.post("/api/v1/sandboxes/" + session + "/stop").status()).isEqualTo(200);
    JsonNode set =
        security.call(
            "set_resource_limits", "{\"session_id\":\"%s\",\"max_ram_mb\":768}".formatted(session));
    assertThat(set.at("/structuredContent/limits/memory_mb").asInt())
        .as(set.toString())
        .isEqualTo(768);
    assertThat(state(session).at("/limits/memory_mb").asInt()).isEqualTo(768);
    assertThat(security.error("set_resource_limits", "{\"session_id\":\"%s\"}".formatted(session)))
        .contains("max_processes");
  }

  @Test
  void theLimitsOfAllAreForAdministrators() {
    String limits = "{\"max_ram_mb\":256,\"max_processes\":100}";
    assertThat(security.error("set_resource_limits", limits)).contains("PermissionError");
    try (LiveServer own = LiveServer.start()) {
      JsonNode set =
          new McpClient(own, SECURITY, LiveServer.ADMIN).call("set_resource_limits", limits);
      assertThat(set.at("/structuredContent/limits/memory_mb").asInt())
          .as(set.toString())
          .isEqualTo(256);
      JsonNode made = own.post("/api/v1/sandboxes", "{}").json();
      assertThat(made.get("memory_mb").asInt()).isEqualTo(256);
      assertThat(made.get("pids").asInt()).isEqualTo(100);
    }
  }

  private String session(String arguments) {
    JsonNode made = mcp.call("create_session", arguments).get("structuredContent");
    assertThat(made.get("success").asBoolean()).as(made.toString()).isTrue();
    return made.get("session_id").asText();
  }

  private JsonNode state(String session) {
    return mcp.call("inspect_state", "{\"session_id\":\"%s\"}".formatted(session))
        .get("structuredContent");
  }
}
