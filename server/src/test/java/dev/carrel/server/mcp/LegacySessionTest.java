package dev.carrel.server.mcp;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.node.IntNode;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.server.Eventually;
import java.time.Duration;
import java.util.Set;
import org.junit.jupiter.api.Test;

class LegacySessionTest {
  private static final int MANY = 100;

  private static final String VERSION = "2025-11-25";
  private static final Call.Client CLIENT =
      new Call.Client(Caller.user("acme", "ada"), "mcp", Set.of(), "");

  private final LegacySession session =
      new LegacySession("id", CLIENT, VERSION, Protocol.object(), Fixtures.catalog(), () -> {});

  private static Flight flight() {
    return Flight.prepare(
        new RpcMessage.Request(IntNode.valueOf(1), "tools/call", Protocol.object()),
        Outbox.ofRequest(),
        Protocol::object,
        () -> {});
  }

  private String keepOneThatEnded() {
    Flight flight = flight();
    flight.outbox().finish(Protocol.object());
    return session.keep(flight);
  }

  @Test
  void whatIsUnderWayStaysHoweverManyComeAfterIt() {
    Flight longest = flight();
    String name = session.keep(longest);
    String first = keepOneThatEnded();
    for (int i = 0; i < MANY; i++) {
      keepOneThatEnded();
    }
    assertThat(session.kept(name)).isSameAs(longest);
    assertThat(session.kept(first)).as("one that ended").isNull();
    longest.outbox().finish(Protocol.object());
    keepOneThatEnded();
    assertThat(session.kept(name)).as("it has ended, too").isNull();
  }

  @Test
  void oneThatNobodyUsesEndsAlsoWhenNoOtherBegins() {
    try (var sessions = new LegacySessions(Duration.ofSeconds(1), Duration.ofMillis(20))) {
      LegacySession left = sessions.begin(CLIENT, VERSION, Protocol.object(), Fixtures.catalog());
      LegacySession listenedTo =
          sessions.begin(CLIENT, VERSION, Protocol.object(), Fixtures.catalog());
      assertThat(listenedTo.listen(false)).isPositive();
      Eventually.until("it has ended", () -> left.standalone().isFinished());
      assertThat(listenedTo.standalone().isFinished()).isFalse();
    }
  }
}
