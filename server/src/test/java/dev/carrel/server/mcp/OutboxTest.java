package dev.carrel.server.mcp;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class OutboxTest {
  private static final int MESSAGE = 100_000;

  private final Outbox outbox = Outbox.ofRequest();

  private static ObjectNode message() {
    ObjectNode message = Protocol.object();
    message.putObject("params").putArray("list").add("x".repeat(MESSAGE));
    return message;
  }

  private Outbox.Item after(long number) throws InterruptedException {
    return Objects.requireNonNull(outbox.next(number, Duration.ZERO, 0));
  }

  @Test
  void oldNoticesGoByTheirWeightAndWhatIsRequiredStays() throws InterruptedException {
    outbox.require(message());
    for (int i = 0; i < 100; i++) {
      outbox.notice(message());
    }
    assertThat(outbox.weight()).isBetween(10L * MESSAGE, 12L * MESSAGE);
    assertThat(after(0).number()).isEqualTo(1);
    assertThat(after(1).number()).isGreaterThan(90);
  }

  @Test
  void onceTheAnswerWasReadOnlyItIsKept() throws InterruptedException {
    outbox.notice(message());
    outbox.finish(Protocol.object().put("id", 1));
    assertThat(after(0).number()).isEqualTo(1);
    outbox.delivered();
    assertThat(outbox.weight()).isLessThan(100);
    assertThat(after(0).last()).isTrue();
  }

  @Test
  void newsThatNobodyReadAreToldOnce() throws InterruptedException {
    ObjectNode tools = Protocol.notification("notifications/tools/list_changed", Protocol.object());
    ObjectNode other = Protocol.notification("notifications/prompts/list_changed", tools);
    outbox.changed(other);
    for (int i = 0; i < 100; i++) {
      outbox.changed(tools.deepCopy());
    }
    assertThat(after(0).message()).isEqualTo(other);
    Outbox.Item told = after(1);
    assertThat(told.message()).isEqualTo(tools);
    assertThat(outbox.weight()).isEqualTo(Outbox.weigh(tools) + Outbox.weigh(other));

    outbox.changed(tools);
    assertThat(after(told.number()).message()).isEqualTo(tools);
  }
}
