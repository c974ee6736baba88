package dev.carrel.control.event;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.spi.SandboxId;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.Test;

final class EventsTest {
  private static final Duration NOW = Duration.ZERO;
  private static final Duration LONG = Duration.ofSeconds(20);

  private static final EventFilter ACME = EventFilter.of("acme");

  private final Events events = new Events();

  @Test
  void aReaderSeesItsOwnTenantOnlyAndAnAdministratorAll() throws InterruptedException {
    Events.Subscription acme = events.listen(ACME, null);
    Events.Subscription everyone = events.listen(EventFilter.of(null), null);
    events.tell("evil", "default", "sandbox.started", null, Map.of());
    events.tell("acme", "default", "sandbox.stopped", null, Map.of("cause", "idle"));

    assertThat(acme.next(NOW))
        .satisfies(event -> assertThat(event.details()).containsEntry("cause", "idle"));
    assertThat(acme.next(NOW)).isNull();
    assertThat(kinds(everyone)).containsExactly("sandbox.started", "sandbox.stopped");
  }

  @Test
  void aReaderOfOneSandboxSeesNothingElse() throws InterruptedException {
    SandboxId one = SandboxId.random();
    Events.Subscription ofOne = events.listen(ACME.withSandbox(one), null);
    events.tell("acme", "default", "sandbox.started", SandboxId.random(), Map.of());
    events.tell("acme", "default", "sandbox.paused", one, Map.of());
    assertThat(kinds(ofOne)).containsExactly("sandbox.paused");
  }

  @Test
  void aReaderThatComesBackMissesNothingThatIsKeptAndIsToldOfTheRest() throws InterruptedException {
    Events.Subscription first = events.listen(ACME, null);
    events.tell("acme", "default", "first", null, Map.of());
    Event seen = Objects.requireNonNull(first.next(NOW));
    events.tell("acme", "default", "second", null, Map.of());
    assertThat(kinds(events.listen(ACME, seen.id()))).containsExactly("second");

    for (int i = 0; i < 5000; i++) {
      events.tell("acme", "default", "more", null, Map.of());
    }
    List<String> late = kinds(events.listen(ACME, seen.id()));
    assertThat(late).hasSize(4097).startsWith(Event.MISSED, "more").doesNotContain("second");
    assertThat(kinds(events.listen(ACME, 1L))).startsWith(Event.MISSED);
  }

  @Test
  void aWaitingReaderIsWoken() throws Exception {
    Events.Subscription reader = events.listen(ACME, null);
    try (var pool = Executors.newVirtualThreadPerTaskExecutor()) {
      var next = pool.submit(() -> reader.next(LONG));
      events.tell("acme", "default", "news", null, Map.of());
      assertThat(next.get()).satisfies(event -> assertThat(event.kind()).isEqualTo("news"));
    }
  }

  @Test
  void idsGrowInTheOrderInWhichReadersSeeThem() throws Exception {
    Events.Subscription reader = events.listen(ACME, null);
    var tellers = new ArrayList<Thread>();
    for (int i = 0; i < 8; i++) {
      tellers.add(
          Thread.startVirtualThread(
              () -> {
                for (int j = 0; j < 100; j++) {
                  events.tell("acme", "default", "news", null, Map.of());
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

  @Test
  void namespaceAndKindsAreFiltered() throws InterruptedException {
    Events.Subscription prod = events.listen(ACME.withNamespace("prod"), null);
    Events.Subscription kinds =
        events.listen(ACME.withKinds(Set.of("execution", "sandbox.stopped")), null);
    events.tell("acme", "prod", "sandbox.started", null, Map.of());
    events.tell("acme", "test", "sandbox.stopped", null, Map.of());
    events.tell("acme", "test", "execution.failed", null, Map.of());
    events.tell("acme", "test", "executions", null, Map.of());
    assertThat(kinds(prod)).containsExactly("sandbox.started");
    assertThat(kinds(kinds)).containsExactly("sandbox.stopped", "execution.failed");
    assertThat(events.recent(ACME.withNamespace("test"), 2))
        .extracting(Event::kind)
        .containsExactly("execution.failed", "executions");
  }

  @Test
  void aReaderThatIsTooSlowIsToldAndTellingNeverWaits() throws InterruptedException {
    Events.Subscription slow = events.listen(ACME, null);
    events.tell("acme", "default", "first", null, Map.of());
    assertThat(Objects.requireNonNull(slow.next(NOW)).kind()).isEqualTo("first");
    for (int i = 0; i < 5000; i++) {
      events.tell("acme", "default", "more", null, Map.of());
    }
    assertThat(Objects.requireNonNull(slow.next(NOW)).kind()).isEqualTo(Event.DROPPED);
  }

  private static List<String> kinds(Events.Subscription reader) throws InterruptedException {
    var kinds = new ArrayList<String>();
    for (Event event = reader.next(NOW); event != null; event = reader.next(NOW)) {
      kinds.add(event.kind());
    }
    return kinds;
  }
}
