package dev.carrel.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

final class RemediesTest {
  @Test
  void ordinaryUserIsToldHowToGetIdsAndLimits() {
    List<String> remedies =
        Remedies.of(
            List.of("uid-range", "own-guest-uid", "memory-limit", "freezer", "volume"),
            "ada",
            true);

    assertThat(remedies).hasSize(4);
    assertThat(remedies.getFirst()).contains("--add-subuids").endsWith(" ada");
    assertThat(remedies.get(1)).contains("Delegate=yes");
    assertThat(remedies.get(2)).contains("snapshots").contains("only as root");
    assertThat(remedies.getLast()).contains("run the server as root");
  }

  @Test
  void groupsOfVersionOneAreRootsAlone() {
    assertThat(Remedies.of(List.of("pids-limit"), "ada", false))
        .first()
        .asString()
        .contains("version 1")
        .doesNotContain("Delegate");
  }

  @Test
  void whatNobodyMissesNeedsNoRemedy() {
    assertThat(Remedies.of(List.of(), "ada", true)).isEmpty();
    assertThat(Remedies.of(List.of("landlock"), "ada", true)).isEmpty();
  }
}
