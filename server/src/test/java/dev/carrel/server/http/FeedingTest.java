package dev.carrel.server.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class FeedingTest {
  private static final Duration LONG = Duration.ofMinutes(1);

  @Test
  void whatTakesNothingIsGivenUp() {
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> Feeding.run(Duration.ofMillis(50), FeedingTest::waitForEver))
        .matches(e -> e.code() == ErrorCode.WRONG_STATE)
        .withMessageContaining("read no input");
    assertThat(Thread.interrupted()).as("the next one is not to be given up").isFalse();
  }

  private static void waitForEver() {
    try {
      new CountDownLatch(1).await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Test
  void aFailureIsTold() {
    var failure = new SandboxException(ErrorCode.EXEC_NOT_FOUND, "gone");
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(
            () ->
                Feeding.run(
                    LONG,
                    () -> {
                      throw failure;
                    }))
        .isSameAs(failure);
  }
}
