package dev.carrel.control.sandbox;

import static dev.carrel.control.ControlFixture.eventually;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
final class TenantTurnsTest {
  private static final Duration LONG = Duration.ofMinutes(5);
  private static final Duration SHORT = Duration.ofMillis(100);

  private final TenantTurns turns = new TenantTurns("tests", LONG);
  private final AtomicInteger begun = new AtomicInteger();
  private final CountDownLatch over = new CountDownLatch(1);

  @Test
  void aTenantsLongWorkKeepsOnlyItsOwnWaiting() {
    var others = new AtomicInteger();
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      try {
        for (int i = 0; i < 3 * TenantTurns.EACH; i++) {
          threads.execute(() -> call(turns, LONG));
        }
        eventually(() -> begun.get() == TenantTurns.EACH);

        turns.call("quiet", "one more", LONG, others::incrementAndGet, _ -> {});

        assertThat(others).hasValue(1);
        assertThat(begun).hasValue(TenantTurns.EACH);
      } finally {
        over.countDown();
      }
    }
    assertThat(begun).hasValue(3 * TenantTurns.EACH);
  }

  @Test
  void workThatFailsGivesItsTurnBack() {
    for (int i = 0; i < 2 * TenantTurns.EACH; i++) {
      assertThatIllegalStateException()
          .isThrownBy(
              () ->
                  turns.call(
                      "a",
                      "broken work",
                      LONG,
                      () -> {
                        throw new IllegalStateException("broken");
                      },
                      _ -> {}));
    }
  }

  @Test
  void itsTimeBeginsWithItsTurn() throws Exception {
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      try {
        for (int i = 0; i < TenantTurns.EACH; i++) {
          threads.execute(() -> call(turns, LONG));
        }
        eventually(() -> begun.get() == TenantTurns.EACH);
        // Longer than a thread waits to be run, also on a busy machine.
        Duration limit = Duration.ofSeconds(1);
        var last = threads.submit(() -> turns.call("greedy", "the last", limit, () -> 1, _ -> {}));

        boolean _ = new CountDownLatch(1).await(2 * limit.toMillis(), TimeUnit.MILLISECONDS);

        over.countDown();
        assertThat(last.get()).isEqualTo(1);
      } finally {
        over.countDown();
      }
    }
  }

  @Test
  void whatIsLateKeepsItsTurnUntilItIsDone() {
    var hasty = new TenantTurns("tests", SHORT);
    try {
      for (int i = 0; i < TenantTurns.EACH; i++) {
        assertThatExceptionOfType(SandboxException.class)
            .isThrownBy(() -> call(hasty, SHORT))
            .matches(e -> e.code() == ErrorCode.ENGINE_FAILED);
      }
      assertThatExceptionOfType(SandboxException.class)
          .isThrownBy(() -> call(hasty, SHORT))
          .matches(e -> e.code() == ErrorCode.LIMIT_REACHED);
    } finally {
      over.countDown();
    }
  }

  /** Work that is done when the test says so. */
  private void call(TenantTurns turns, Duration limit) {
    turns.call(
        "greedy",
        "long work",
        limit,
        () -> {
          begun.incrementAndGet();
          awaitQuietly(over);
          return true;
        },
        _ -> {});
  }

  private static void awaitQuietly(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
