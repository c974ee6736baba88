package dev.carrel.e2e.functional;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.bench.Density;
import dev.carrel.bench.Leftovers;
import dev.carrel.bench.ServerProcess;
import dev.carrel.bench.Soak;
import dev.carrel.e2e.Carrel;
import dev.carrel.e2e.Need;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Small numbers of what {@code carrel bench --soak} and {@code --density} do with large ones. */
class SoakIT {
  private static final int CYCLES = 200;
  private static final int BOXES = 40;

  @TempDir private Path folder;

  @Test
  void cyclesLeaveNothing() throws Exception {
    try (ServerProcess server = Carrel.start(folder)) {
      Soak soak = new Soak(server);
      soak.cycles(CYCLES, "{}");
      soak.cycles(CYCLES / 10, "{\"isolated\":true}");

      assertThat(soak.leftovers()).satisfies(left -> assertThat(left.none()).isTrue());
    }
  }

  @Test
  void whatIsCountedAsLeftIsFoundWhileItLives() throws Exception {
    // Exactly that, and no box that was made ahead.
    try (ServerProcess server = Carrel.start(folder, Map.of("CARREL_POOL_AHEAD", "0"))) {
      Density density = new Density(server);
      List<String> boxes = density.fill(2, "{}");
      var alive = Leftovers.count(server, Set.copyOf(boxes));

      assertThat(alive.processes()).isGreaterThanOrEqualTo(2);
      assertThat(alive.folders()).isEqualTo(2);
      density.removeAll(boxes);
      assertThat(Leftovers.settled(server, Set.copyOf(boxes)).none()).isTrue();
    }
  }

  @Test
  void groupsAreFoundWhileTheyLive() throws Exception {
    Need.NAMED_GROUPS.require();
    try (ServerProcess server = Carrel.start(folder)) {
      Density density = new Density(server);
      List<String> boxes = density.fill(2, "{}");

      assertThat(Leftovers.count(server, Set.copyOf(boxes)).cgroups()).isGreaterThanOrEqualTo(2);
      density.removeAll(boxes);
    }
  }

  @Test
  void manyIdleSandboxesAllAnswer() throws Exception {
    try (ServerProcess server = Carrel.start(folder)) {
      Density density = new Density(server);
      List<String> boxes = density.fill(BOXES, "{}");
      density.useAll(boxes);
      density.removeAll(boxes);

      assertThat(boxes).hasSize(BOXES);
      assertThat(density.failures()).isEmpty();
    }
  }
}
