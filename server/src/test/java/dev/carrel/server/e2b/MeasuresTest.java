package dev.carrel.server.e2b;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.spi.SandboxId;
import java.time.Duration;
import java.time.Instant;
import org.junit.jupiter.api.Test;

class MeasuresTest {
  private static final SandboxId ID = new SandboxId("sbwabl3z3v6nt4ay");
  private static final Instant START = Instant.parse("2026-01-01T00:00:00Z");

  private final Measures measures = new Measures();

  @Test
  void theFirstLookTellsOfTheWholeLifeAndTheNextOfTheTimeSinceThen() {
    assertThat(share(10, 5)).isEqualTo(50);
    assertThat(share(20, 7)).isEqualTo(20);
    assertThat(share(30, 7)).isZero();
  }

  @Test
  void twoLooksAtOnceTellTheSame() {
    assertThat(share(10, 5)).isEqualTo(50);
    assertThat(share(10, 5)).isEqualTo(50);
  }

  @Test
  void oneThatStartedAnewCountsFromItsStart() {
    assertThat(share(10, 5)).isEqualTo(50);
    Instant again = START.plusSeconds(20);
    assertThat(measures.share(ID, again, Duration.ofSeconds(8).toNanos(), again.plusSeconds(10)))
        .isEqualTo(80);
  }

  private double share(int secondsAfterStart, int secondsUsed) {
    return measures.share(
        ID, START, Duration.ofSeconds(secondsUsed).toNanos(), START.plusSeconds(secondsAfterStart));
  }
}
