package dev.carrel.control.exec;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.guest.GuestEvent;
import dev.carrel.spi.ExecEvent.Cause;
import dev.carrel.spi.Machine.Usage;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

final class CausesTest {
  private static final Usage BEFORE = new Usage(0, 0, 1, 3, 5);
  private static final Usage SAME = new Usage(9, 9, 1, 3, 5);
  private static final Usage OOM = new Usage(0, 0, 1, 4, 5);
  private static final Usage FULL = new Usage(0, 0, 1, 3, 6);

  @Test
  void killWithoutProofIsOnlyASignal() {
    assertThat(cause(null, 9, false, false, SAME)).isEqualTo(Cause.SIGNALLED);
    assertThat(cause(137, null, false, false, SAME)).isEqualTo(Cause.RETURNED);
  }

  @Test
  void theCountersAreTheProof() {
    assertThat(cause(null, 9, false, false, OOM)).isEqualTo(Cause.OUT_OF_MEMORY);
    assertThat(cause(137, null, false, false, OOM)).isEqualTo(Cause.OUT_OF_MEMORY);
    assertThat(cause(1, null, false, false, FULL)).isEqualTo(Cause.PIDS_LIMIT);
  }

  @Test
  void successIsSuccessWhateverHappenedInBetween() {
    assertThat(cause(0, null, false, false, OOM)).isEqualTo(Cause.RETURNED);
    assertThat(cause(0, null, false, false, FULL)).isEqualTo(Cause.RETURNED);
  }

  @Test
  void whatTheHostDidIsNotBlamedOnOthers() {
    assertThat(cause(null, 9, false, true, OOM)).isEqualTo(Cause.KILLED);
    assertThat(cause(null, 9, true, true, OOM)).isEqualTo(Cause.TIMED_OUT);
    assertThat(cause(null, 11, false, false, SAME)).isEqualTo(Cause.CRASHED);
    assertThat(cause(null, 15, false, false, SAME)).isEqualTo(Cause.SIGNALLED);
  }

  @ParameterizedTest
  @EnumSource(
      mode = EnumSource.Mode.EXCLUDE,
      names = {"RETURNED", "SIGNALLED"})
  void everyBadEndHasAHint(Cause cause) {
    assertThat(Causes.hint(cause, 11)).isNotBlank();
  }

  private static Cause cause(
      @Nullable Integer code,
      @Nullable Integer signal,
      boolean timedOut,
      boolean killed,
      Usage after) {
    return Causes.of(
        new GuestEvent.Exited(
            code,
            signal,
            timedOut,
            killed,
            null,
            Duration.ZERO,
            Duration.ZERO,
            0,
            0,
            List.of(),
            false),
        BEFORE,
        after);
  }
}
