package dev.carrel.e2e.functional;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.carrel.bench.ServerProcess;
import dev.carrel.e2e.Api;
import dev.carrel.e2e.Box;
import dev.carrel.e2e.Carrel;
import dev.carrel.e2e.Need;
import dev.carrel.engine.testkit.Leftovers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Map;
import java.util.function.Consumer;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Another version goes on with what one has left, whose folder may be gone by then. */
class UpgradeIT {
  @TempDir private Path folder;
  @TempDir private Path versions;

  private Path old;

  @BeforeEach
  void installTheOldVersion() throws Exception {
    old = versions.resolve("old");
    Process copy =
        new ProcessBuilder("cp", "-a", Carrel.home().toString(), old.toString())
            .inheritIO()
            .start();
    assertThat(copy.waitFor()).isZero();
  }

  @Test
  void theNextVersionGoesOnWithSandboxesOfTheLast() throws Exception {
    // Bytes after its end make it another program that does the same.
    Files.write(old.resolve("libexec/guest"), new byte[] {1}, StandardOpenOption.APPEND);
    upgrade(
        () -> {},
        box ->
            assertThat(box.code("bash", "echo $((6 * 7))", 60).get("stdout").asText())
                .isEqualTo("42\n"));
  }

  @Test
  void whatIsMissingWhereTheLastVersionWasRemovedIsSaidAndComesBackWithAStart() throws Exception {
    Need.VOLUMES.require();
    upgrade(
        () -> Leftovers.delete(old),
        box -> {
          var bash = Api.object().put("language", "bash").put("code", "echo $((6 * 7))");
          Api.Answer refused = box.api().post(box.path() + "/code", bash);
          assertThat(refused.status()).as(refused.text()).isEqualTo(422);
          assertThat(refused.json().get("detail").asText())
              .contains("the version of Carrel that started it was removed");
          assertThat(refused.json().get("hint").asText()).contains("start it again");

          assertThat(box.api().post(box.path() + "/stop", Api.object()).status()).isEqualTo(200);
          assertThat(box.api().post(box.path() + "/start", Api.object()).status()).isEqualTo(200);
          assertThat(box.api().post(box.path() + "/code", bash).json().get("stdout").asText())
              .isEqualTo("42\n");
        });
  }

  /** Stops the old version over a sandbox, and starts this one beside what is left of it. */
  private void upgrade(Runnable meanwhile, Consumer<Box> user) throws Exception {
    String id;
    try (ServerProcess server = Carrel.start(old, folder, Map.of())) {
      Api api = new Api(server.address(), server.token());
      Box box = api.create("{}");
      id = box.id();
      box.python("x = 41");
      box.put("kept.txt", "kept");
    }
    meanwhile.run();
    try (ServerProcess server = Carrel.start(folder)) {
      Api api = new Api(server.address(), server.token());
      Box box = new Box(api, id, api.get("/api/v1/sandboxes/" + id).json());
      assertThat(box.created().get("status").asText()).isEqualTo("running");
      assertThat(result(box.python("x + 1"))).isEqualTo("42");
      user.accept(box);
      assertThat(box.file("kept.txt").text()).isEqualTo("kept");
      try (Box another = api.create("{}")) {
        assertThat(another.created().get("engine").asText()).isEqualTo(Carrel.ENGINE);
        assertThat(result(another.python("6 * 7"))).isEqualTo("42");
      }
      box.close();
      assertThat(Carrel.leftovers(server, id)).isEmpty();
    }
  }

  private static String result(JsonNode cell) {
    return cell.get("result").get("text/plain").asText();
  }
}
