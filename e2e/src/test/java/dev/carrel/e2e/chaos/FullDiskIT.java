package dev.carrel.e2e.chaos;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.carrel.e2e.Api.Answer;
import dev.carrel.e2e.Box;
import dev.carrel.engine.testkit.Eventually;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a client is told when the disk that the server writes to has no room left. */
class FullDiskIT {
  // What the store has on the disk already is enough for some of them.
  private static final int MANY = 2000;
  private static final Duration PATIENCE = Duration.ofSeconds(30);

  @TempDir private Path folder;

  @BeforeEach
  void mountSmallDisk() throws Exception {
    SmallDisk.mount(folder);
  }

  @AfterEach
  void unmount() throws Exception {
    SmallDisk.unmount(folder);
  }

  @Test
  void pauseAndSnapshotSayThatTheDiskIsFullAndChangeNothing() throws Exception {
    Path filler = folder.resolve("filler");
    try (World world = new World(folder, Map.of());
        Box box = world.api().create("{\"disk_mb\": 16}")) {
      assertThat(box.shell("echo kept > file; sync")).isEqualTo("exit 0");
      SmallDisk.fill(filler);

      assertNoSpace(world.api().call("POST", box.path() + "/snapshots", "{}"));
      assertNoSpace(pauseUntilRefused(world, box));
      assertThat(status(world, box)).as("it goes on as if nobody had asked").isEqualTo("running");

      Files.delete(filler);
      assertThat(world.api().call("POST", box.path() + "/pause", "").status()).isEqualTo(200);
      assertThat(status(world, box)).isEqualTo("paused");
      assertThat(world.api().call("POST", box.path() + "/snapshots", "{}").status()).isEqualTo(201);
      assertThat(box.shell("cat file")).isEqualTo("kept\nexit 0");
    }
  }

  /** Else the one way out would be to remove files of the server by hand. */
  @Test
  void whatIsDeletedGivesRoomAgain() throws Exception {
    try (World world = new World(folder, Map.of());
        Box box = world.api().create("{\"disk_mb\": 64}")) {
      assertThat(box.shell("head -c 32000000 /dev/urandom > large; sync")).isEqualTo("exit 0");
      fillUntilRefused(world);

      assertThat(world.api().call("DELETE", box.path(), "").status()).isEqualTo(204);
      assertThat(world.api().get(box.path()).status()).isEqualTo(404);
      Eventually.holds("there is room", PATIENCE, () -> made(world).status() == 201);
    }
  }

  @Test
  void aServerStartsOnAFullDiskAndDeletesThere() throws Exception {
    try (World world = new World(folder, Map.of())) {
      Answer made = world.api().call("POST", "/api/v1/sandboxes", "{\"disk_mb\": 64}");
      String box = "/api/v1/sandboxes/" + made.json().get("id").asText();
      Answer put = world.api().bytes("PUT", box + "/files/large", new byte[32_000_000]);
      assertThat(put.status()).isEqualTo(204);
      fillUntilRefused(world);

      world.killServer();
      SmallDisk.fill(folder.resolve("filler"));
      world.startServer();

      assertThat(world.api().get(box).json().get("status").asText()).isEqualTo("running");
      assertThat(world.api().call("DELETE", box, "").status()).isEqualTo(204);
      Files.delete(folder.resolve("filler"));
      Eventually.holds("volumes are made again", PATIENCE, () -> persists(world));
    }
  }

  @Test
  void whatHasNoFileLeftSaysSo() throws Exception {
    try (World world = new World(folder, Map.of())) {
      Answer secret;
      Answer sandbox;
      awaitReserve();
      SmallDisk.leaveNoFiles(folder);
      try {
        secret =
            world
                .api()
                .call(
                    "POST",
                    "/api/v1/vault/secrets",
                    "{\"name\": \"KEY\", \"value\": \"0123456789\"}");
        sandbox = made(world);
      } finally {
        SmallDisk.leaveFiles(folder);
      }
      assertNoSpace(secret);
      assertNoSpace(sandbox);
      assertThat(folder.resolve("run/egress")).as("nothing of it is left").isEmptyDirectory();
      assertThat(made(world).status()).isEqualTo(201);
    }
  }

  /** Until the store has used up what it has on the disk already. */
  private void fillUntilRefused(World world) throws Exception {
    awaitReserve();
    for (int i = 0; i < MANY; i++) {
      SmallDisk.fill(folder.resolve("filler"));
      Answer key = world.api().call("POST", "/api/v1/keys", "{\"name\": \"key-%d\"}".formatted(i));
      if (key.status() != 201) {
        assertNoSpace(key);
        return;
      }
    }
    throw new AssertionError("a full disk took " + MANY + " keys");
  }

  private void awaitReserve() {
    Path last = folder.resolve("data/reserve/room-15");
    Eventually.holds("the server has its reserve", PATIENCE, () -> Files.exists(last));
  }

  private static boolean persists(World world) {
    JsonNode made = world.api().call("POST", "/api/v1/sandboxes", "{\"disk_mb\": 16}").json();
    String box = "/api/v1/sandboxes/" + made.get("id").asText();
    assertThat(world.api().call("DELETE", box, "").status()).isEqualTo(204);
    return made.get("persistent").asBoolean();
  }

  private static Answer made(World world) {
    return world.api().call("POST", "/api/v1/sandboxes", "{\"ephemeral\": true}");
  }

  private static Answer pauseUntilRefused(World world, Box box) throws Exception {
    for (int i = 0; i < MANY; i++) {
      Answer pause = world.api().call("POST", box.path() + "/pause", "");
      if (pause.status() != 200) {
        return pause;
      }
      assertThat(status(world, box)).isEqualTo("paused");
      Answer resume = world.api().call("POST", box.path() + "/resume", "");
      if (resume.status() != 200) {
        assertNoSpace(resume);
        assertThat(status(world, box))
            .as("what was not written did not happen")
            .isEqualTo("paused");
        // A little room, which the resume takes; the next pause has none again.
        Files.delete(world.folder().resolve("filler"));
        assertThat(world.api().call("POST", box.path() + "/resume", "").status()).isEqualTo(200);
        SmallDisk.fill(world.folder().resolve("filler"));
      }
    }
    throw new AssertionError("a full disk took the word of " + MANY + " pauses");
  }

  private static void assertNoSpace(Answer answer) {
    assertThat(answer.status()).as(answer.text()).isEqualTo(507);
    JsonNode problem = answer.json();
    assertThat(problem.get("code").asText()).isEqualTo("no_space");
    assertThat(problem.get("detail").asText()).as("what").isNotBlank();
    assertThat(problem.get("hint").asText()).as("what to do").contains("space");
  }

  private static String status(World world, Box box) {
    return world.api().get(box.path()).json().get("status").asText();
  }
}
