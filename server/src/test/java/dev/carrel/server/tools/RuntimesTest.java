package dev.carrel.server.tools;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.carrel.control.ControlSettings;
import dev.carrel.control.context.ContextSettings;
import dev.carrel.server.LiveServer;
import dev.carrel.server.mcp.McpClient;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Languages that are there, and those that are not. */
class RuntimesTest {
  @Test
  void aSessionWhoseInterpreterDoesNotStartIsNone() {
    try (LiveServer server =
        LiveServer.start(LiveServer.settings(), RuntimesTest::withoutInterpreters)) {
      var mcp = new McpClient(server);
      assertThat(mcp.error("create_session", "{\"language\":\"bash\"}"))
          .contains("language_not_available");
      assertThat(mcp.call("list_sessions", "{}").at("/structuredContent/sessions")).isEmpty();
    }
  }

  /** None is ready as quickly as these want it to be. */
  private static ControlSettings withoutInterpreters(ControlSettings defaults) {
    ContextSettings usual = defaults.contexts();
    return defaults.withContexts(
        new ContextSettings(
            usual.defaultTimeout(),
            usual.maxTimeout(),
            usual.interruptGrace(),
            Duration.ofNanos(1),
            usual.preload(),
            usual.warmAtStart(),
            usual.maxContexts(),
            usual.maxQueued(),
            usual.maxCode(),
            usual.maxDisplay(),
            usual.maxFrame(),
            usual.stdoutChars(),
            usual.stderrChars(),
            usual.resultChars(),
            usual.tracebackChars()));
  }

  @Test
  void aSessionBeginsWithItsInterpreterAndEachImageTellsItsLanguages(@TempDir Path bare) {
    try (LiveServer server =
        LiveServer.start(
            LiveServer.settings(),
            defaults ->
                defaults.withSandboxes(defaults.sandboxes().withImages(Map.of("bare", bare))))) {
      var mcp = new McpClient(server);
      String session =
          mcp.call("create_session", "{\"language\":\"bash\"}")
              .at("/structuredContent/session_id")
              .asText();
      JsonNode state =
          mcp.call("inspect_state", "{\"session_id\":\"%s\"}".formatted(session))
              .get("structuredContent");
      assertThat(state.at("/interpreters/0/language").asText())
          .as(state.toString())
          .isEqualTo("bash");
      assertThat(state.at("/interpreters/0/executions").asInt()).isZero();

      JsonNode runtimes = mcp.call("list_runtimes", "{}").get("structuredContent");
      assertThat(runtimes.at("/image_languages/host").toString()).contains("python", "bash");
      assertThat(runtimes.get("languages")).isEqualTo(runtimes.at("/image_languages/host"));
      assertThat(runtimes.at("/image_languages/bare").isArray()).isTrue();
      assertThat(runtimes.at("/image_languages/bare")).isEmpty();
      assertThat(runtimes.get("images").toString()).contains("bare", "host");
    }
  }
}
