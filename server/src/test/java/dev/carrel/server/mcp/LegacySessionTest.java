package dev.carrel.server.mcp;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.node.IntNode;
import dev.carrel.control.sandbox.Caller;
import java.util.Set;
import org.junit.jupiter.api.Test;

class LegacySessionTest {
  private static final int MANY = 100;

  private final LegacySession session =
      new LegacySession(
          "id",
          new Call.Client(Caller.user("acme", "ada"), "mcp", Set.of(), ""),
          "2025-11-25",
          Protocol.object(),
          Fixtures.catalog(),
          () -> {});

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
}
