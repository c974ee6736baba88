package dev.carrel.control.context;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.control.exec.CapturedText;
import dev.carrel.spi.ContextId;
import dev.carrel.spi.ExecEvent.Cause;
import dev.carrel.spi.ExecEvent.Channel;
import dev.carrel.spi.Language;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** That output in small pieces takes no more of the heap than output in large ones. */
final class CellEventsTest {
  private static final int MANY = 100_000;

  @Test
  void whoeverReadsNothingIsSentNoMillionsOfSmallPieces() throws Exception {
    var events = new CellEvents();
    var put = new AtomicInteger();
    Thread cell =
        Thread.ofVirtual()
            .start(
                () -> {
                  try {
                    while (put.get() < MANY) {
                      events.put(new CodeEvent.Output(Channel.STDOUT, bytes("x")));
                      put.incrementAndGet();
                    }
                  } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                  }
                });
    assertThat(cell.join(Duration.ofSeconds(5))).as("it could put all of them").isFalse();
    assertThat(put.get()).isLessThan(MANY / 2);
    cell.interrupt();
    cell.join();
  }

  @Test
  void theEndWaitsForNobody() throws Exception {
    var events = new CellEvents();
    events.put(new CodeEvent.Output(Channel.STDOUT, ByteBuffer.allocate(5 << 20)));
    Thread cell =
        Thread.ofVirtual()
            .start(
                () -> {
                  try {
                    events.put(new CodeEvent.Done(result()));
                  } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                  }
                });
    boolean over = cell.join(Duration.ofSeconds(5));
    cell.interrupt();
    assertThat(over).isTrue();
  }

  @Test
  void betweenCellsPiecesOfOneChannelAreOne() {
    var between = new BetweenCells();
    for (String piece : List.of("a", "b", "c")) {
      between.add(Channel.STDOUT, bytes(piece), BetweenCells.USUAL);
    }
    between.add(Channel.STDERR, bytes("d"), BetweenCells.USUAL);

    assertThat(between.take())
        .containsExactly(
            new CodeEvent.Output(Channel.STDOUT, bytes("abc")),
            new CodeEvent.Output(Channel.STDERR, bytes("d")));
    assertThat(between.take()).isEmpty();
  }

  @Test
  void betweenCellsTheBeginningIsKeptHoweverSmallThePieces() {
    var between = new BetweenCells();
    for (int i = 0; i < MANY; i++) {
      between.add(i % 2 == 0 ? Channel.STDOUT : Channel.STDERR, bytes("x"), BetweenCells.USUAL);
    }
    assertThat(between.take()).hasSizeBetween(100, 1000);
    for (int i = 0; i < MANY; i++) {
      between.add(Channel.STDOUT, bytes("x"), BetweenCells.USUAL);
    }
    assertThat(between.take())
        .singleElement()
        .extracting(output -> output.bytes().remaining() > 60_000)
        .isEqualTo(true);
  }

  private static CodeResult result() {
    var nothing = new CapturedText("", 0, false);
    return new CodeResult(
        true,
        nothing,
        nothing,
        null,
        null,
        List.of(),
        1,
        CodeResult.State.KEPT,
        ContextId.random(),
        Language.PYTHON,
        Duration.ZERO,
        Duration.ZERO,
        Cause.RETURNED,
        false,
        false,
        false,
        null);
  }

  private static ByteBuffer bytes(String text) {
    return ByteBuffer.wrap(text.getBytes(java.nio.charset.StandardCharsets.UTF_8));
  }
}
