package dev.carrel.e2e.chaos;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.carrel.e2e.Api;
import dev.carrel.e2e.Box;
import dev.carrel.engine.testkit.Eventually;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What becomes of a server whose heap is smaller than what runs in its sandboxes has to say. */
class LittleMemoryIT {
  private static final Duration PATIENCE = Duration.ofMinutes(1);
  private static final String HEAP = "-Xmx64m";
  private static final int BOXES = 3;
  private static final int COMMANDS = 50;
  private static final int LENGTH = 400_000;

  @TempDir private Path folder;

  @Test
  void whatManyLastingCommandsSayDoesNotFillTheHeap() throws Exception {
    try (World world = new World(folder, Map.of("CARREL_JAVA_OPTS", HEAP))) {
      List<Box> boxes = new ArrayList<>();
      for (int i = 0; i < BOXES; i++) {
        boxes.add(world.api().create("{}"));
        for (int j = 0; j < COMMANDS; j++) {
          lasting(boxes.getLast());
        }
      }
      for (Box box : boxes) {
        Eventually.holds("all of it has been said", PATIENCE, () -> said(box));
      }
      assertThat(world.serverRuns()).isTrue();

      world.killServer();
      world.startServer(Map.of("CARREL_JAVA_OPTS", HEAP));
      for (Box box : boxes) {
        Box found = new Box(world.api(), box.id(), box.created());
        Eventually.holds("it is all there again", PATIENCE, () -> said(found));
        JsonNode result = found.exec("yes | head -c %d; echo; echo last".formatted(LENGTH), 60);
        assertThat(result.get("stdout_truncated").asBoolean()).isTrue();
        assertThat(result.get("stdout").asText()).startsWith("y\ny\n").endsWith("\nlast\n");
        found.close();
      }
      assertThat(world.serverRuns()).isTrue();
    }
  }

  private static void lasting(Box box) {
    String say = "head -c %d /dev/zero | tr '\\0' ".formatted(LENGTH);
    String command = say + "x; " + say + "y >&2; exec sleep 1000";
    assertThat(
            box.api()
                .post(
                    box.path() + "/exec",
                    Api.object().put("command", command).put("background", true))
                .status())
        .isEqualTo(202);
  }

  private static boolean said(Box box) {
    int whole = 0;
    for (JsonNode exec : box.api().get(box.path() + "/execs").json().get("execs")) {
      if (exec.get("output_bytes").asLong() == 2L * LENGTH) {
        whole++;
      }
    }
    return whole == COMMANDS;
  }
}
