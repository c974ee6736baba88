package dev.carrel.control.admission;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.carrel.control.telemetry.Telemetry;
import dev.carrel.engine.testkit.Eventually;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
final class LineTest {
  private static final Duration LONG = Duration.ofSeconds(30);

  private final Telemetry telemetry = new Telemetry();
  private final Line line = new Line(Line.Kind.EXECUTION, 2, 6, telemetry);

  @Test
  void whoeverFitsGoesOnAtOnceAndLeavesNoTrace() throws InterruptedException {
    try (Place first = enter("a", LONG);
        Place second = enter("b", LONG)) {
      assertThat(first.waited()).isZero();
      assertThat(second.waited()).isZero();
      assertThat(line.running()).isEqualTo(2);
    }
    assertThat(line.running()).isZero();
    assertThat(telemetry.snapshot()).isEmpty();
  }

  @Test
  void tenantsTakeTurnsAndWithinOneTheFirstGoesFirst() throws InterruptedException {
    Place one = enter("x", LONG);
    Place two = enter("x", LONG);
    List<String> order = Collections.synchronizedList(new ArrayList<>());
    var threads = new ArrayList<Thread>();
    for (String who : List.of("a1", "a2", "a3", "b1", "b2", "c1")) {
      int before = line.waiting();
      threads.add(
          Thread.ofVirtual()
              .start(
                  () -> {
                    try (Place _ = enter(who.substring(0, 1), LONG)) {
                      order.add(who);
                    } catch (InterruptedException e) {
                      Thread.currentThread().interrupt();
                    }
                  }));
      Eventually.holds(who + " waits", LONG, () -> line.waiting() == before + 1);
    }
    assertThat(positions("a")).containsExactly(1, 4, 6);
    assertThat(positions("b")).containsExactly(2, 5);
    assertThat(positions("c")).containsExactly(3);
    one.close();
    for (Thread thread : threads) {
      thread.join();
    }
    two.close();
    assertThat(order).containsExactly("a1", "b1", "c1", "a2", "b2", "a3");
    assertThat(line.running()).isZero();
  }

  @Test
  void aFullLineRefusesAndAskersAreTold() throws InterruptedException {
    try (Place _ = enter("x", LONG);
        Place _ = enter("x", LONG)) {
      line.resize(2, 0);
      assertThatExceptionOfType(SandboxException.class)
          .isThrownBy(() -> enter("a", LONG))
          .matches(e -> e.code() == ErrorCode.LIMIT_REACHED)
          .withMessageContaining("2 executions run and 0 wait");
    }
    assertThat(telemetry.snapshot())
        .hasEntrySatisfying(
            "queue_refused_executions", refused -> assertThat(refused.count()).isEqualTo(1));
  }

  @Test
  void aTenantThatFillsTheLineGivesWayToOthers() throws Exception {
    try (Place _ = enter("x", LONG);
        Place _ = enter("x", LONG)) {
      List<FutureTask<Void>> flood = wait("a", 6);
      FutureTask<Void> other = wait("b", 1).getFirst();

      assertThatThrownBy(flood.getLast()::get)
          .as("the last to come")
          .hasCauseInstanceOf(SandboxException.class)
          .hasMessageContaining("the most that may");
      assertThat(positions("a")).containsExactly(1, 3, 4, 5, 6);
      assertThat(positions("b")).containsExactly(2);
      assertThatExceptionOfType(SandboxException.class)
          .isThrownBy(() -> enter("a", LONG))
          .matches(e -> e.code() == ErrorCode.LIMIT_REACHED);

      line.resize(9, 6);
      other.get();
      for (FutureTask<Void> one : flood.subList(0, 5)) {
        one.get();
      }
      assertThat(line.running()).isEqualTo(2);
      assertThat(line.waiting()).isZero();
    }
    assertThat(line.running()).isZero();
  }

  /** So many that come one after the other, and go as soon as it is their turn. */
  private List<FutureTask<Void>> wait(String tenant, int count) {
    var tasks = new ArrayList<FutureTask<Void>>();
    for (int i = 1; i <= count; i++) {
      var task =
          new FutureTask<Void>(
              () -> {
                enter(tenant, LONG).close();
                return null;
              });
      Thread.ofVirtual().start(task);
      tasks.add(task);
      int now = i;
      Eventually.holds("it waits", LONG, () -> positions(tenant).size() == now || task.isDone());
    }
    return tasks;
  }

  @Test
  void nobodyWaitsLongerThanItsTime() throws InterruptedException {
    try (Place _ = enter("x", LONG);
        Place _ = enter("x", LONG)) {
      assertThatExceptionOfType(SandboxException.class)
          .isThrownBy(() -> enter("a", Duration.ofMillis(50)))
          .matches(e -> e.code() == ErrorCode.LIMIT_REACHED)
          .withMessageContaining("waited 50 ms");
      assertThat(line.waiting()).isZero();
    }
  }

  @Test
  void anInterruptLeavesTheLineAtOnce() throws InterruptedException {
    try (Place _ = enter("x", LONG);
        Place _ = enter("x", LONG)) {
      Thread waiting =
          Thread.ofVirtual()
              .start(
                  () -> {
                    try (Place _ = enter("a", LONG)) {
                      throw new AssertionError("there was no place");
                    } catch (InterruptedException e) {
                      Thread.currentThread().interrupt();
                    }
                  });
      Eventually.holds("it waits", LONG, () -> line.waiting() == 1);
      waiting.interrupt();
      waiting.join();
      assertThat(line.waiting()).isZero();
      assertThat(positions("a")).isEmpty();
    }
  }

  @Test
  void aListenerThatFailsLeavesTheLineToo() throws InterruptedException {
    try (Place _ = enter("x", LONG);
        Place _ = enter("x", LONG)) {
      assertThatExceptionOfType(IllegalStateException.class)
          .isThrownBy(
              () ->
                  line.enter(
                      "a",
                      null,
                      LONG,
                      position -> {
                        throw new IllegalStateException("gone at " + position);
                      }))
          .withMessage("gone at 1");
      assertThat(line.waiting()).isZero();
    }
  }

  @Test
  void moreRoomLetsThoseInWhoWait() throws InterruptedException {
    try (Place _ = enter("x", LONG);
        Place _ = enter("x", LONG)) {
      Thread waiting =
          Thread.ofVirtual()
              .start(
                  () -> {
                    try {
                      enter("a", LONG).close();
                    } catch (InterruptedException e) {
                      Thread.currentThread().interrupt();
                    }
                  });
      Eventually.holds("it waits", LONG, () -> line.waiting() == 1);
      line.resize(3, 6);
      waiting.join();
      assertThat(line.running()).isEqualTo(2);
    }
  }

  @Test
  void aHeldPlaceIsFreeWhenAllHaveLetGo() throws InterruptedException {
    Place place = enter("a", LONG);
    Runnable hold = place.hold();
    place.close();
    place.close();
    assertThat(line.running()).isEqualTo(1);
    hold.run();
    hold.run();
    assertThat(line.running()).isZero();
  }

  @Test
  void underAStormNeverMoreThanTheLimitRunAndNothingIsLost() throws Exception {
    var storm = new Line(Line.Kind.EXECUTION, 8, 100_000, telemetry);
    var inside = new AtomicInteger();
    var most = new AtomicInteger();
    var random = new Random(7);
    try (var pool = Executors.newVirtualThreadPerTaskExecutor()) {
      var tasks = new ArrayList<Callable<Boolean>>();
      for (int i = 0; i < 5000; i++) {
        String tenant = "t" + random.nextInt(5);
        boolean hurried = random.nextInt(4) == 0;
        tasks.add(
            () -> {
              Duration patience = hurried ? Duration.ofNanos(1000) : LONG;
              try (Place _ = storm.enter(tenant, null, patience, Waiting.UNSEEN)) {
                most.accumulateAndGet(inside.incrementAndGet(), Math::max);
                LockSupport.parkNanos(1000);
                inside.decrementAndGet();
                return true;
              } catch (SandboxException e) {
                return hurried;
              }
            });
      }
      for (Future<Boolean> done : pool.invokeAll(tasks)) {
        assertThat(done.get()).isTrue();
      }
    }
    assertThat(most.get()).isBetween(1, 8);
    assertThat(storm.running()).isZero();
    assertThat(storm.waiting()).isZero();
  }

  private Place enter(String tenant, Duration patience) throws InterruptedException {
    return line.enter(tenant, null, patience, Waiting.UNSEEN);
  }

  private List<Integer> positions(String tenant) {
    return line.snapshot(tenant).own().stream().map(Line.Snapshot.Request::position).toList();
  }
}
