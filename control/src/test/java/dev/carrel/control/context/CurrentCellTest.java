package dev.carrel.control.context;

import static dev.carrel.control.ControlFixture.eventually;
import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.control.exec.MemoryRoom;
import dev.carrel.spi.ContextId;
import dev.carrel.spi.ExecEvent.Channel;
import dev.carrel.spi.Language;
import dev.carrel.spi.SandboxId;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Test;

final class CurrentCellTest {
  private static final int MAX = BetweenCells.USUAL;
  private static final LiveContext CONTEXT =
      new LiveContext(
          ContextId.random(),
          SandboxId.random(),
          CreateContext.of(Language.PYTHON),
          false,
          Instant.EPOCH,
          0);

  @Test
  void cellIsSeenByNobodyBeforeItCanShowWhatCameBefore() throws Exception {
    var current = new CurrentCell();
    var written = new CountDownLatch(1);
    var goOn = new CountDownLatch(1);
    current.begin(cell(new HeldSink(written, goOn)));
    var writing = new FutureTask<>(() -> current.output(Channel.STDOUT, bytes("x"), MAX));
    Thread.ofPlatform().start(writing);
    written.await();
    current.end();
    current.output(Channel.STDOUT, bytes("earlier "), MAX);
    var shown = new CellEvents();
    var beginning = new FutureTask<>(() -> begin(current, cell(shown)));
    Thread thread = Thread.ofPlatform().start(beginning);
    eventually(() -> thread.getState() == Thread.State.WAITING);

    assertThat(current.get()).isNull();
    // Nor is the reader held up.
    assertThat(current.output(Channel.STDOUT, bytes("later"), MAX)).isFalse();

    goOn.countDown();
    assertThat(writing.get()).isTrue();
    assertThat(beginning.get()).isTrue();
    assertThat(text(shown)).isEqualTo("earlier later");
  }

  private static boolean begin(CurrentCell current, Cell cell) throws InterruptedException {
    current.begin(cell);
    return true;
  }

  private record HeldSink(CountDownLatch reached, CountDownLatch goOn) implements CellSink {
    @Override
    public void put(CodeEvent event) throws InterruptedException {
      reached.countDown();
      goOn.await();
    }

    @Override
    public void drop() {}

    @Override
    public void abandon() {}
  }

  private static Cell cell(CellSink events) {
    return new Cell(
        1,
        CONTEXT,
        ContextSettings.defaults(),
        new MemoryRoom(0).share("acme"),
        events,
        Duration.ZERO,
        null);
  }

  private static ByteBuffer bytes(String text) {
    return ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8));
  }

  private static String text(CellEvents events) throws InterruptedException {
    var all = new StringBuilder();
    while (events.take(0) instanceof CodeEvent.Output(Channel _, ByteBuffer bytes)) {
      all.append(StandardCharsets.UTF_8.decode(bytes.duplicate()));
    }
    return all.toString();
  }
}
