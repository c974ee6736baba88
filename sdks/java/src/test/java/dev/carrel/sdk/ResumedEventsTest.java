package dev.carrel.sdk;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class ResumedEventsTest {
  private final List<Long> asked = new ArrayList<>();

  @Test
  void aBrokenStreamGoesOnAfterTheLastEvent() {
    ResumedEvents events =
        ResumedEvents.resumable(
            connections(
                "event: started\ndata: {}\n\nid: 4\nevent: stdout\ndata: a\n\nid: 9\nevent: std",
                "event: started\ndata: {}\n\nid: 9\nevent: stdout\ndata: b\n\n",
                "event: started\ndata: {}\n\nevent: exited\ndata: {}\n\n"),
            0);

    assertThat(all(events)).containsExactly("started {}", "stdout a", "stdout b", "exited {}");
    assertThat(asked).containsExactly(0L, 4L, 9L);
  }

  @Test
  void aServerThatStopsIsAskedAgain() {
    ResumedEvents events =
        ResumedEvents.resumable(
            connections(
                "event: failure\ndata: {\"code\":\"shutting_down\",\"status\":503}\n\n",
                "event: exited\ndata: {}\n\n"),
            0);

    assertThat(all(events)).containsExactly("exited {}");
  }

  @Test
  void aRefusalIsFinal() {
    ResumedEvents events =
        ResumedEvents.resumable(
            connections("event: failure\ndata: {\"code\":\"sandbox_gone\",\"status\":410}\n\n"), 0);

    assertThatThrownBy(() -> events.next("exited"))
        .isInstanceOfSatisfying(
            CarrelException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.SANDBOX_GONE));
  }

  @Test
  void withoutAKeyAnEndIsAnEnd() {
    ResumedEvents events =
        ResumedEvents.once(connections("id: 4\nevent: stdout\ndata: a\n\n", "never: asked"));

    assertThat(all(events)).containsExactly("stdout a");
    assertThat(asked).hasSize(1);
  }

  @Test
  void aConnectionThatHeldHasAllPatienceAgain() {
    var hours = new AtomicLong();
    var patience = new Patience(() -> Duration.ofHours(hours.getAndIncrement()).toNanos());
    ResumedEvents.Opening opening =
        after -> {
          asked.add(after);
          String text =
              asked.size() < 40 ? "" : "event: failure\ndata: {\"code\":\"forbidden\"}\n\n";
          return new ServerEvents(new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8)));
        };
    ResumedEvents events = ResumedEvents.resumable(opening, 0, patience);

    assertThatThrownBy(() -> events.next(null))
        .isInstanceOfSatisfying(
            CarrelException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.FORBIDDEN));
  }

  @Test
  void closingEndsTheAsking() {
    ResumedEvents events = ResumedEvents.resumable(connections("event: started\ndata: {}\n\n"), 0);
    events.next("exited");
    events.close();

    assertThat(events.next("exited")).isEmpty();
    assertThat(asked).hasSize(1);
  }

  private ResumedEvents.Opening connections(String... texts) {
    return after -> {
      asked.add(after);
      return new ServerEvents(
          new ByteArrayInputStream(texts[asked.size() - 1].getBytes(StandardCharsets.UTF_8)));
    };
  }

  private static List<String> all(ResumedEvents events) {
    var all = new ArrayList<String>();
    for (Optional<ServerEvents.Event> event = events.next("exited");
        event.isPresent();
        event = events.next("exited")) {
      all.add(event.get().name() + " " + event.get().data());
    }
    return all;
  }
}
