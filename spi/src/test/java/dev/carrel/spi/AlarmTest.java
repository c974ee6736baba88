package dev.carrel.spi;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class AlarmTest {
  private static final Duration SOON = Duration.ofMillis(20);
  private static final Duration LATER = Duration.ofMinutes(10);

  private final BlockingQueue<String> rung = new LinkedBlockingQueue<>();

  @Test
  void ringsOnceItsTimeIsOverAndNotBefore() throws InterruptedException {
    long start = System.nanoTime();
    Alarm.after(SOON, () -> rung.add("soon"));

    assertThat(next()).isEqualTo("soon");
    assertThat(Duration.ofNanos(System.nanoTime() - start)).isGreaterThanOrEqualTo(SOON);
    assertThat(rung).isEmpty();
  }

  @Test
  void earlierOneThatIsSetLaterRingsFirst() throws InterruptedException {
    try (var _ = Alarm.after(LATER, () -> rung.add("later"))) {
      Alarm.after(SOON.multipliedBy(3), () -> rung.add("second"));
      Alarm.after(SOON, () -> rung.add("first"));

      assertThat(next()).isEqualTo("first");
      assertThat(next()).isEqualTo("second");
    }
  }

  @Test
  void closedOneDoesNotRing() throws InterruptedException {
    Alarm.after(SOON, () -> rung.add("closed")).close();
    Alarm.after(SOON.multipliedBy(2), () -> rung.add("other"));

    assertThat(next()).isEqualTo("other");
    assertThat(rung).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void oneThatFailsKeepsNoOtherFromRinging(boolean error) throws InterruptedException {
    Thread.UncaughtExceptionHandler usual = Thread.getDefaultUncaughtExceptionHandler();
    Thread.setDefaultUncaughtExceptionHandler((_, failure) -> rung.add(failure.getMessage()));
    try {
      Alarm.after(
          SOON,
          () -> {
            if (error) {
              throw new LinkageError("on purpose");
            }
            throw new IllegalStateException("on purpose");
          });
      assertThat(next()).isEqualTo("on purpose");
      Alarm.after(SOON, () -> rung.add("next"));
      assertThat(next()).isEqualTo("next");
    } finally {
      Thread.setDefaultUncaughtExceptionHandler(usual);
    }
  }

  @Test
  void timesBeyondAllCountingAreFarAway() {
    try (var _ = Alarm.after(Duration.ofSeconds(Long.MAX_VALUE), () -> rung.add("never"))) {
      assertThat(rung).isEmpty();
    }
  }

  @Test
  void toSetOneAndCloseItWakesNobody() throws InterruptedException {
    try (var _ = Alarm.after(LATER, () -> rung.add("later"))) {
      Alarm.after(Duration.ZERO, () -> rung.add("awake"));
      assertThat(next()).isEqualTo("awake");
      long before = waits();
      for (int i = 0; i < 1000; i++) {
        Alarm.after(LATER.plusSeconds(i), () -> rung.add("closed")).close();
      }
      assertThat(waits() - before).isLessThan(10);
    }
  }

  private String next() throws InterruptedException {
    return String.valueOf(rung.poll(10, TimeUnit.SECONDS));
  }

  /** How often the thread of all alarms has begun to wait. */
  private static long waits() {
    return Arrays.stream(ManagementFactory.getThreadMXBean().dumpAllThreads(false, false))
        .filter(thread -> thread.getThreadName().equals("alarms"))
        .mapToLong(ThreadInfo::getWaitedCount)
        .sum();
  }
}
