package dev.carrel.control.sandbox;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.EnumSet;
import java.util.Set;
import org.junit.jupiter.api.Test;

final class TransitionsTest {
  @Test
  void everyStatusCanBeLeftForDestroyedAndDestroyedIsTheEnd() {
    for (SandboxStatus status : SandboxStatus.visible()) {
      assertThat(Transitions.exists(status, SandboxStatus.DESTROYED)).as(status.name()).isTrue();
    }
    assertThat(Transitions.from(SandboxStatus.DESTROYED)).isEmpty();
  }

  @Test
  void everyStatusCanBeReachedAndNoneLeadsToItself() {
    Set<SandboxStatus> reached = EnumSet.of(SandboxStatus.CREATING);
    boolean grown = true;
    while (grown) {
      grown = false;
      for (SandboxStatus status : EnumSet.copyOf(reached)) {
        assertThat(Transitions.from(status)).doesNotContain(status);
        grown |= reached.addAll(Transitions.from(status));
      }
    }
    assertThat(reached).containsExactlyInAnyOrder(SandboxStatus.values());
  }

  @Test
  void aMachineIsOnlyEverStartedByWayOfCreating() {
    for (SandboxStatus status : SandboxStatus.values()) {
      boolean hasMachine = status.live();
      assertThat(Transitions.exists(status, SandboxStatus.RUNNING))
          .as(status.name())
          .isEqualTo(hasMachine && status != SandboxStatus.RUNNING);
    }
  }
}
