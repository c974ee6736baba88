package dev.carrel.server.e2b;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.spi.Language;
import dev.carrel.spi.SandboxId;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class TurnsTest {
  private static final Turns.Key KEY =
      new Turns.Key(new SandboxId("sbaaaaaaaaaaaaaa"), Language.PYTHON);

  private final Turns turns = new Turns();

  @Test
  void whoHasAContextAloneKeepsOthersOut() throws InterruptedException {
    var released = new AtomicBoolean();
    var sawItReleased = new AtomicBoolean();
    Thread other;
    try (var _ = turns.take(KEY, true)) {
      var begun = new CountDownLatch(1);
      other =
          Thread.startVirtualThread(
              () -> {
                begun.countDown();
                try (var _ = turns.take(KEY, false)) {
                  sawItReleased.set(released.get());
                } catch (InterruptedException e) {
                  throw new AssertionError(e);
                }
              });
      begun.await();
      released.set(true);
    }
    other.join();
    assertThat(sawItReleased).isTrue();
    assertThat(turns.size()).isZero();
  }

  @Test
  void othersShareItAndWhoGivesUpLeavesNothingBehind() throws InterruptedException {
    try (var _ = turns.take(KEY, false);
        var _ = turns.take(KEY, false)) {
      var gaveUp = new AtomicBoolean();
      Thread other =
          Thread.startVirtualThread(
              () -> {
                try (var _ = turns.take(KEY, true)) {
                  gaveUp.set(false);
                } catch (InterruptedException e) {
                  gaveUp.set(true);
                }
              });
      other.interrupt();
      other.join();
      assertThat(gaveUp).isTrue();
    }
    assertThat(turns.size()).isZero();
  }
}
