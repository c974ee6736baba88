package dev.carrel.sdk;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

class ServerEventsTest {
  @Test
  void eventsHaveNameDataAndId() {
    ServerEvents stream = stream("event: stdout\nid: 7\ndata: {\"a\":1}\n\ndata:x\n\n");

    assertThat(stream.next()).contains(new ServerEvents.Event("stdout", "{\"a\":1}", 7));
    assertThat(stream.next()).contains(new ServerEvents.Event("message", "x", 0));
    assertThat(stream.next()).isEmpty();
  }

  @Test
  void commentsAndUnknownFieldsAreSkippedAndDataLinesJoined() {
    ServerEvents stream = stream(": keep-alive\n\nretry: 5\ndata: a\ndata: b\n\n");

    assertThat(stream.next()).contains(new ServerEvents.Event("message", "a\nb", 0));
  }

  @Test
  void anUnfinishedEventIsNone() {
    assertThat(stream("event: stdout\ndata: half").next()).isEmpty();
  }

  @Test
  @Timeout(30)
  void closingDoesNotWaitForTheThreadThatReads() throws Exception {
    var reading = new CountDownLatch(1);
    var closed = new CountDownLatch(1);
    var body =
        new InputStream() {
          @Override
          public int read() throws IOException {
            reading.countDown();
            try {
              closed.await();
            } catch (InterruptedException e) {
              Thread.currentThread().interrupt();
            }
            throw new IOException("closed");
          }

          @Override
          public int read(byte[] bytes, int offset, int length) throws IOException {
            return read();
          }

          @Override
          public void close() {
            closed.countDown();
          }
        };
    var stream = new ServerEvents(body);
    try (var executor = Executors.newVirtualThreadPerTaskExecutor()) {
      Future<Optional<ServerEvents.Event>> next = executor.submit(stream::next);
      reading.await();

      stream.close();

      assertThat(next.get()).isEmpty();
    }
  }

  @Test
  void theFailureEventIsAnExceptionWithItsCode() {
    ServerEvents stream =
        stream(
            """
            event: failure
            data: {"code":"guest_lost","detail":"gone","status":502}

            """);

    assertThatThrownBy(stream::next)
        .isInstanceOfSatisfying(
            CarrelException.class,
            e -> {
              assertThat(e.code()).isEqualTo(ErrorCode.GUEST_LOST);
              assertThat(e.status()).isEqualTo(502);
            });
  }

  @Test
  void codesOfNewerServersAreUnknown() {
    assertThat(ErrorCode.parse("brand_new")).isEqualTo(ErrorCode.UNKNOWN);
    assertThat(ErrorCode.parse("limit_reached")).isEqualTo(ErrorCode.LIMIT_REACHED);
  }

  private static ServerEvents stream(String text) {
    return new ServerEvents(new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8)));
  }
}
