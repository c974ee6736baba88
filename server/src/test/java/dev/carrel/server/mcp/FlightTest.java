package dev.carrel.server.mcp;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.node.IntNode;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class FlightTest {
  @Test
  void whoCancelsTwiceDoesNotBreakTheCleanUp() throws InterruptedException {
    var cleaning = new CountDownLatch(1);
    var cleaned = new CountDownLatch(1);
    var ended = new CountDownLatch(1);
    var broken = new AtomicBoolean();
    Flight flight =
        Flight.prepare(
            new RpcMessage.Request(IntNode.valueOf(1), "tools/call", Protocol.object()),
            Outbox.ofRequest(),
            () -> {
              try {
                new CountDownLatch(1).await();
              } finally {
                cleaning.countDown();
                try {
                  cleaned.await();
                } catch (InterruptedException e) {
                  broken.set(true);
                }
              }
              return Protocol.object();
            },
            ended::countDown);
    flight.start();
    flight.cancel();
    cleaning.await();
    flight.cancel();
    cleaned.countDown();
    ended.await();
    assertThat(broken).isFalse();
  }
}
