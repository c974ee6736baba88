package dev.carrel.control.event;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.spi.SandboxId;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.Test;

final class EventsTest {
  private static final Duration NOW = Duration.ZERO;
  private static final Duration LONG = Duration.ofSeconds(20);

  private final Events events = new Events();

  @Test
  void aReaderSeesItsOwnTenantOnlyAndAnAdministratorAll() throws InterruptedException {
    Events.Subscription acme = events.listen("acme", null, null);
    Events.Subscription everyone = events.listen(null, null, null);
    events.tell("evil", "sandbox.started", null, Map.of());
    events.tell("acme", "sandbox.stopped", null, Map.of("cause", "idle"));

    assertThat(acme.next(NOW))
        .satisfies(event -> assertThat(event.details()).containsEntry("cause", "idle"));
    assertThat(acme.next(NOW)).isNull();
    assertThat(kinds(everyone)).containsExactly("sandbox.started", "sandbox.stopped");
  }

  @Test
  void aReaderOfOneSandboxSeesNothingElse() throws InterruptedException {
    SandboxId one = SandboxId.random();
    Events.Subscription ofOne = events.listen("acme", one, null);
    events.tell("acme", "sandbox.started", SandboxId.random(), Map.of());
    events.tell("acme", "sandbox.paused", one, Map.of());
    assertThat(kinds(ofOne)).containsExactly("sandbox.paused");
  }

  @Test
  void aReaderThatComesBackMissesNothingThatIsKeptAndIsToldOfTheRest() throws InterruptedException {
    Events.Subscription first = events.listen("acme", null, null);
    events.tell("acme", "first", null, Map.of());
    Event seen = Objects.requireNonNull(first.next(NOW));
    events.tell("acme", "second", null, Map.of());
    assertThat(kinds(events.listen("acme", null, seen.id()))).containsExactly("second");

    for (int i = 0; i < 2000; i++) {
      events.tell("acme", "more", null, Map.of());
    }
    List<String> late = kinds(events.listen("acme", null, seen.id()));
    assertThat(late).hasSize(1001).startsWith(Event.MISSED, "more").doesNotContain("second");
    assertThat(kinds(events.listen("acme", null, 1L))).startsWith(Event.MISSED);
  }

  @Test
  void aWaitingReaderIsWoken() throws Exception {
    Events.Subscription reader = events.listen("acme", null, null);
    try (var pool = Executors.newVirtualThreadPerTaskExecutor()) {
      var next = pool.submit(() -> reader.next(LONG));
      events.tell("acme", "news", null, Map.of());
      assertThat(next.get()).satisfies(event -> assertThat(event.kind()).isEqualTo("news"));
    }
  }

  @Test
  void idsGrowInTheOrderInWhichReadersSeeThem() throws Exception {
    Events.Subscription reader = events.listen("acme", null, null);
    var tellers = new ArrayList<Thread>();
    for (int i = 0; i < 8; i++) {
      tellers.add(
          Thread.startVirtualThread(
              () -> {
                for (int j = 0; j < 100; j++) {
                  events.tell("acme", "news", null, Map.of());
                }
              }));
    }
    for (Thread teller : tellers) {
      teller.join();
    }
    long last = 0;
    for (int i = 0; i < 800; i++) {
      Event event = Objects.requireNonNull(reader.next(LONG));
      assertThat(event.id()).isGreaterThan(last);
      last = event.id();
    }
  }

  private static List<String> kinds(Events.Subscription reader) throws InterruptedException {
    var kinds = new ArrayList<String>();
    for (Event event = reader.next(NOW); event != null; event = reader.next(NOW)) {
      kinds.add(event.kind());
    }
    return kinds;
  }
}
