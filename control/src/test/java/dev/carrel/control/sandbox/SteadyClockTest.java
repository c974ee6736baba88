package dev.carrel.control.sandbox;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.concurrent.ThreadLocalRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class SteadyClockTest {
  private static final Instant START = Instant.parse("2026-01-01T00:00:00Z");

  private Instant wall = START;
  private long nanos = -5;
  private final SteadyClock clock = new SteadyClock(() -> wall, () -> nanos);

  @Test
  void goesWithTheWallClockWhileThatGoesSteadily() {
    for (int i = 0; i < 1000; i++) {
      passes(Duration.ofMillis(ThreadLocalRandom.current().nextInt(5000)));
      assertThat(clock.instant()).isEqualTo(wall);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, -1, 24 * 365 * 50, -24 * 365 * 50})
  void aJumpMovesItByNoMoreThanAHundredthOfTheTimeThatPasses(int hours) {
    passes(Duration.ofMinutes(1));
    Instant before = clock.instant();
    wall = wall.plus(Duration.ofHours(hours));
    assertThat(clock.instant()).isEqualTo(before);
    passes(Duration.ofMinutes(30));

    assertThat(clock.instant())
        .isCloseTo(before.plus(Duration.ofMinutes(30)), within(18, ChronoUnit.SECONDS));
  }

  @ParameterizedTest
  @ValueSource(ints = {1, -1})
  void aJumpIsMadeUpForInTheEndAndTimeNeverGoesBack(int hours) {
    wall = wall.plus(Duration.ofHours(hours));
    Instant last = clock.instant();
    for (int i = 0; i < 101 * 60; i++) {
      passes(Duration.ofMinutes(1));
      Instant now = clock.instant();
      assertThat(now).isAfter(last);
      last = now;
    }
    assertThat(last).isEqualTo(wall);
  }

  private void passes(Duration time) {
    nanos += time.toNanos();
    wall = wall.plus(time);
  }
}
