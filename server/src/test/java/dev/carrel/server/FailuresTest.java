package dev.carrel.server;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import dev.carrel.server.LiveServer.Answer;
import dev.carrel.server.mcp.McpClient;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/** What goes with a failure is the same whichever way it is told. */
class FailuresTest {
  private static final String BOX = "{\"templateID\":\"base\"}";
  private static final String LINE = "{\"command\":\"true\"}";

  @Test
  void aLimitSaysWhenToTryAgain() {
    try (LiveServer server =
        LiveServer.start(
            LiveServer.settings(),
            defaults -> defaults.withSandboxes(defaults.sandboxes().withMaxSandboxes(10, 1)))) {
      server.sandbox();
      isPassing(429, server.post("/sandboxes", BOX));
      isPassing(429, server.post("/v1/bash/exec", LINE));
      isPassing(429, server.post("/v1/bash/exec/stream", LINE));
    }
  }

  @Test
  void aServerThatStopsSaysWhenToTryAgain() {
    try (LiveServer server = LiveServer.start()) {
      server.control().sandboxes().close();
      isPassing(503, server.post("/sandboxes", BOX));
      isPassing(503, server.post("/v1/bash/exec", LINE));
    }
  }

  private static void isPassing(int status, Answer answer) {
    assertThat(answer.status()).as(answer.text()).isEqualTo(status);
    assertThat(answer.header("Retry-After")).isEqualTo("1");
  }

  @Test
  void whatTheEngineFailedAtIsInTheLog() {
    var log = new ListAppender<ILoggingEvent>();
    // Others log while we look.
    log.list = new CopyOnWriteArrayList<>();
    log.start();
    var root = (Logger) LoggerFactory.getLogger(Logger.ROOT_LOGGER_NAME);
    root.addAppender(log);
    try (LiveServer server = LiveServer.start()) {
      server.breakEngine();
      var mcp = new McpClient(server);
      isLogged(log, () -> assertThat(mcp.error("Bash", LINE)).contains("start"), "tool Bash");
      isLogged(
          log,
          () -> assertThat(mcp.error("create_session", "{}")).contains("engine_failed"),
          "tool create_session");
      isLogged(log, () -> fails(502, server.post("/sandboxes", BOX)), "request ");
      isLogged(log, () -> fails(500, server.post("/v1/bash/exec", LINE)), "request ");
      isLogged(log, () -> fails(502, server.post("/api/v1/sandboxes", "{}")), "request ");
    } finally {
      root.detachAppender(log);
    }
  }

  private static void fails(int status, Answer answer) {
    assertThat(answer.status()).as(answer.text()).isEqualTo(status);
    assertThat(answer.header("Retry-After")).as("it would fail again").isEmpty();
  }

  private static void isLogged(ListAppender<ILoggingEvent> log, Runnable failing, String what) {
    log.list.clear();
    failing.run();
    List<ILoggingEvent> lines =
        log.list.stream()
            .filter(line -> line.getFormattedMessage().startsWith(what))
            .filter(line -> line.getFormattedMessage().endsWith(" failed"))
            .toList();
    assertThat(lines).as(log.list.toString()).hasSize(1);
    assertThat(lines.getFirst().getLevel()).isEqualTo(Level.WARN);
    assertThat(lines.getFirst().getThrowableProxy().getMessage()).contains("start, folder");
  }
}
