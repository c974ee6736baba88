package dev.carrel.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.control.exec.Execs;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.spi.DataSize;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.ExecId;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Clients that leave while a program does not read what they sent keep no place from others. */
@Timeout(90)
@SuppressWarnings("NullAway") // set before each test
class DeafCommandsTest {
  private static final Caller ADA = Caller.user("acme", "ada");
  private static final int MOST = 4;
  private static final String DEAF =
      "{\"command\":\"stty raw -echo; echo ready; sleep 1000\",\"background\":true,\"terminal\":{\"rows\":24,\"cols\":80}}";

  private LiveServer server;
  private SandboxId sandbox;
  private ExecId exec;

  @BeforeEach
  void start() {
    server =
        LiveServer.start(
            new ServerSettings(
                "127.0.0.1",
                0,
                false,
                Set.of(),
                "",
                null,
                null,
                "",
                DataSize.ofMebibytes(1),
                MOST,
                Duration.ofSeconds(20),
                Duration.ofSeconds(5),
                Duration.ofSeconds(5)));
    sandbox = new SandboxId(server.sandboxId());
    String path = "/api/v1/sandboxes/" + sandbox + "/exec";
    exec = new ExecId(server.post(path, DEAF).json().get("id").asText());
  }

  @AfterEach
  void stop() {
    server.close();
  }

  /** Whatever is sent from now on waits behind this. */
  private void fill() {
    Execs execs = server.control().execs();
    Eventually.until("it is ready", () -> execs.get(ADA, sandbox, exec).outputEnd() > 0);
    ByteBuffer keys = ByteBuffer.allocate((int) DataSize.ofMebibytes(1).bytes());
    Thread filling = Thread.startVirtualThread(() -> write(execs, keys));
    Eventually.until("it is full", () -> filling.getState() == Thread.State.WAITING);
  }

  private void write(Execs execs, ByteBuffer keys) {
    try {
      execs.write(ADA, sandbox, exec, keys, false);
    } catch (SandboxException e) {
      // The server has ended, and with it what waits here.
      assertThat(e.code()).isEqualTo(ErrorCode.WRONG_STATE);
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "stdin  | application/json         | {\"data\":\"x\"}",
        "stdin  | application/octet-stream | x",
        "resize | application/json         | {\"rows\":9,\"cols\":9}"
      })
  void whatNobodyReadsIsGivenUpWithItsSender(String call, String type, String body)
      throws IOException {
    fill();
    String head =
        BoundsTest.head(
            "POST",
            "/api/v1/sandboxes/" + sandbox + "/execs/" + exec + "/" + call,
            "Content-Type: " + type + "\r\nContent-Length: " + body.length());
    for (int i = 0; i < 2 * MOST; i++) {
      try (var client = new RawClient(server.port())) {
        client.send(head + body);
      }
    }
    try (var late = new RawClient(server.port())) {
      late.send(BoundsTest.head("GET", "/health", "Connection: close"));
      assertThat(late.readHead()).startsWith("HTTP/1.1 200");
    }
  }
}
