package dev.carrel.control.web;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class TreesTest {
  private final CountDownLatch begun = new CountDownLatch(1);
  private final CountDownLatch over = new CountDownLatch(1);
  private final AtomicInteger atOnce = new AtomicInteger();

  private int slow() throws InterruptedException {
    int now = atOnce.incrementAndGet();
    begun.countDown();
    over.await();
    atOnce.decrementAndGet();
    return now;
  }

  @Test
  void pagesThatTakeLongKeepNoOtherTenantWaiting() throws Exception {
    var trees = new Trees(Duration.ofSeconds(40));
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      List<Future<Integer>> held = new ArrayList<>();
      for (int i = 0; i < 10; i++) {
        held.add(threads.submit(() -> trees.parse("evil", this::slow)));
      }
      try {
        begun.await();
        Future<String> quick = threads.submit(() -> trees.parse("acme", () -> "read"));
        assertThat(quick.get(10, TimeUnit.SECONDS)).isEqualTo("read");
      } finally {
        over.countDown();
      }
      for (Future<Integer> one : held) {
        assertThat(one.get()).isEqualTo(1);
      }
    }
  }

  @Test
  void nobodyWaitsForEver() throws Exception {
    var trees = new Trees(Duration.ofMillis(50));
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      Future<Integer> held = threads.submit(() -> trees.parse("acme", this::slow));
      try {
        begun.await();
        assertThatExceptionOfType(SandboxException.class)
            .isThrownBy(() -> trees.parse("acme", () -> "read"))
            .matches(e -> e.code() == ErrorCode.WEB_FAILED);
      } finally {
        over.countDown();
      }
      held.get();
      assertThat(trees.parse("acme", () -> "read")).isEqualTo("read");
    }
  }
}
