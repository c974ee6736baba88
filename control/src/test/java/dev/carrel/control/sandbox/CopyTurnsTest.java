package dev.carrel.control.sandbox;

import static dev.carrel.control.ControlFixture.eventually;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
final class CopyTurnsTest {
  private final CopyTurns turns = new CopyTurns();

  @Test
  void aTenantsLongCopiesKeepOnlyItsOwnWaiting() throws Exception {
    var over = new CountDownLatch(1);
    var begun = new AtomicInteger();
    var others = new AtomicInteger();
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      try {
        for (int i = 0; i < 3 * CopyTurns.EACH; i++) {
          threads.execute(
              () ->
                  turns.take(
                      "greedy",
                      () -> {
                        begun.incrementAndGet();
                        awaitQuietly(over);
                      }));
        }
        eventually(() -> begun.get() == CopyTurns.EACH);

        turns.take("quiet", others::incrementAndGet);

        assertThat(others).hasValue(1);
        assertThat(begun).hasValue(CopyTurns.EACH);
      } finally {
        over.countDown();
      }
    }
    assertThat(begun).hasValue(3 * CopyTurns.EACH);
  }

  @Test
  void aCopyThatFailsGivesItsTurnBack() {
    for (int i = 0; i < 2 * CopyTurns.EACH; i++) {
      assertThatIllegalStateException()
          .isThrownBy(
              () ->
                  turns.take(
                      "a",
                      () -> {
                        throw new IllegalStateException("broken");
                      }));
    }
  }

  private static void awaitQuietly(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
