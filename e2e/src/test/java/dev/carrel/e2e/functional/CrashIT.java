package dev.carrel.e2e.functional;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.carrel.bench.ServerProcess;
import dev.carrel.e2e.Api;
import dev.carrel.e2e.Box;
import dev.carrel.e2e.Carrel;
import dev.carrel.engine.testkit.Eventually;
import java.nio.file.Path;
import java.time.Duration;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Kill −9 of the server loses nothing and leaves nothing behind. */
class CrashIT {
  @TempDir private Path folder;

  @Test
  void aKilledServerFindsItsSandboxesExecsAndContextsAgain() throws Exception {
    String id;
    String exec;
    try (ServerProcess first = Carrel.start(folder)) {
      Api api = new Api(first.address(), first.token());
      Box box = api.create("{\"metadata\": {\"who\": \"crash\"}}");
      id = box.id();
      box.python("x = 41");
      box.put("kept.txt", "kept");
      JsonNode started =
          api.post(
                  box.path() + "/exec",
                  Api.object()
                      .put(
                          "command",
                          "echo before; until [ -e /workspace/go ]; do sleep 0.05; done; echo after")
                      .put("background", true))
              .json();
      exec = started.get("id").asText();
      first.kill();
    }
    try (ServerProcess second = Carrel.start(folder)) {
      Api api = new Api(second.address(), second.token());
      Box box = new Box(api, id, api.get("/api/v1/sandboxes/" + id).json());
      assertThat(box.created().get("status").asText()).isEqualTo("running");
      assertThat(box.created().get("metadata").get("who").asText()).isEqualTo("crash");
      assertThat(box.file("kept.txt").text()).isEqualTo("kept");
      assertThat(box.python("x + 1").get("result").get("text/plain").asText()).isEqualTo("42");
      box.exec("touch /workspace/go");
      await(
          () ->
              api.get(box.path() + "/execs/" + exec)
                  .json()
                  .get("status")
                  .asText()
                  .equals("exited"));
      assertThat(api.get(box.path() + "/execs/" + exec).json().get("exit_code").asInt()).isZero();
      assertThat(api.get(box.path() + "/execs/" + exec + "/output").text())
          .contains("before")
          .contains("after");
      box.close();
      assertThat(api.get(box.path()).status()).isEqualTo(404);
      assertThat(Carrel.leftovers(second, id)).isEmpty();
    }
  }

  @Test
  void aForegroundExecOfAKilledServerIsFoundAgainAndLeavesNothing() throws Exception {
    String id;
    try (ServerProcess first = Carrel.start(folder)) {
      Api api = new Api(first.address(), first.token());
      Box box = api.create("{}");
      id = box.id();
      Thread.ofVirtual()
          .start(
              () -> {
                try {
                  box.exec("echo started; touch /workspace/up; sleep 300");
                } catch (RuntimeException | AssertionError cut) {
                  // The server dies under this call: that is the test.
                }
              });
      await(() -> box.file("up").status() == 200);
      first.kill();
    }
    try (ServerProcess second = Carrel.start(folder)) {
      Api api = new Api(second.address(), second.token());
      Box box = new Box(api, id, Api.object());
      JsonNode exec = api.get(box.path() + "/execs").json().get("execs").get(0);
      assertThat(exec.get("status").asText()).isEqualTo("running");
      assertThat(api.get(box.path() + "/execs/" + exec.get("id").asText() + "/output").text())
          .contains("started");
      box.close();
      assertThat(Carrel.leftovers(second, id)).isEmpty();
    }
  }

  private static void await(BooleanSupplier condition) {
    Eventually.holds("what the test waits for", Duration.ofSeconds(20), condition);
  }
}
