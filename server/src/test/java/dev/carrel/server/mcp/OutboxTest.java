package dev.carrel.server.mcp;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class OutboxTest {
  private static final int MESSAGE = 100_000;

  private final Outbox outbox = new Outbox();

  private static ObjectNode message() {
    ObjectNode message = Protocol.object();
    message.putObject("params").putArray("list").add("x".repeat(MESSAGE));
    return message;
  }

  @Test
  void oldNoticesGoByTheirWeightAndWhatIsRequiredStays() throws InterruptedException {
    outbox.require(message());
    for (int i = 0; i < 100; i++) {
      outbox.notice(message());
    }
    assertThat(outbox.weight()).isBetween(10L * MESSAGE, 12L * MESSAGE);
    Outbox.Item first = outbox.next(0, Duration.ZERO, 0);
    assertThat(first.number()).isEqualTo(1);
    assertThat(outbox.next(1, Duration.ZERO, 0).number()).isGreaterThan(90);
  }

  @Test
  void onceTheAnswerWasReadOnlyItIsKept() throws InterruptedException {
    outbox.notice(message());
    outbox.finish(Protocol.object().put("id", 1));
    assertThat(outbox.next(0, Duration.ZERO, 0).number()).isEqualTo(1);
    outbox.delivered();
    assertThat(outbox.weight()).isLessThan(100);
    assertThat(outbox.next(0, Duration.ZERO, 0).last()).isTrue();
  }
}
