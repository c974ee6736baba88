package dev.carrel.e2e.chaos;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.carrel.e2e.Api.Answer;
import dev.carrel.e2e.Box;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a client is told when the disk that the server writes to has no room left. */
class FullDiskIT {
  // What the store has on the disk already is enough for some of them.
  private static final int MANY = 2000;

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
