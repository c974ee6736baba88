package dev.carrel.control.context;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.control.exec.MemoryRoom;
import dev.carrel.control.idempotency.KeySettings;
import dev.carrel.spi.DataSize;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.ExecEvent;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

final class KeptCellsTest {
  private static final int MIB = 1 << 20;
  private static final SandboxId SANDBOX = SandboxId.random();

  private final MemoryRoom room = new MemoryRoom(MIB);
  private final KeptCells kept =
      new KeptCells(new KeySettings(256, Duration.ofDays(1), DataSize.ofMebibytes(8)));

  @Test
  void cellsThatRunTakeNothingFromThoseThatAreOver() {
    end(add("over", "acme", 100));

    for (int i = 0; i < 20; i++) {
      add("running-" + i, "acme", MIB);
    }
    end(add("next", "acme", 100));

    assertThat(kept.find("over")).isPresent();
  }

  @Test
  void cellsThatAllRanBeforeTheFirstWasOverAreNotAllKept() {
    List<CellRecord> running =
        IntStream.range(0, 20).mapToObj(i -> add("cell-" + i, "acme", MIB)).toList();

    running.forEach(KeptCellsTest::end);

    assertThat(kept.find("cell-12")).isEmpty();
    assertThat(kept.find("cell-13")).isPresent();
    assertThat(kept.find("cell-19")).isPresent();
  }

  @Test
  void whatACellTookIsFreeAgainOnlyOnceItCountsAmongThoseThatAreKept() {
    var free = new ArrayList<Boolean>();
    MemoryRoom.Share other = room.share("any");
    var cell = new CellRecord(room.share("any"), () -> free.add(other.take(1)));
    assertThat(cell.room().take(MIB / 2)).isTrue();

    end(cell);

    assertThat(free).containsExactly(false);
    assertThat(other.take(MIB / 2)).isTrue();
  }

  @Test
  void whoHasMostLosesTheOldest() {
    end(add("small", "acme", 100));
    for (int i = 0; i < 4; i++) {
      end(add("large-" + i, "evil", 3 * MIB));
    }

    assertThat(kept.find("small")).isPresent();
    assertThat(kept.find("large-0")).isEmpty();
    assertThat(kept.find("large-1")).isEmpty();
    assertThat(kept.find("large-2")).isPresent();
    assertThat(kept.find("large-3")).isPresent();
  }

  @Test
  void tenantsWithMuchHaveTheSameInTheEnd() {
    for (int i = 0; i < 5; i++) {
      end(add("one-" + i, "one", MIB));
      end(add("two-" + i, "two", MIB));
    }

    assertThat(kept.find("one-1")).isEmpty();
    assertThat(kept.find("two-1")).isEmpty();
    assertThat(kept.find("one-2")).isPresent();
    assertThat(kept.find("two-2")).isPresent();
  }

  @Test
  void ofASandboxNoMoreAreKeptThanItMayHaveKeys() {
    CellRecord running = add("running", "acme", 1);
    for (int i = 0; i < 300; i++) {
      end(add("cell-" + i, "acme", 1));
    }

    assertThat(kept.find("running")).contains(running);
    assertThat(kept.find("cell-42")).isEmpty();
    assertThat(kept.find("cell-43")).isPresent();
    assertThat(kept.since(SANDBOX.value(), Instant.EPOCH)).hasSize(258);
    kept.removeAll(SANDBOX);
    assertThat(kept.find("cell-299")).isEmpty();
    assertThat(kept.since(SANDBOX.value(), Instant.EPOCH)).isEmpty();
    assertThat(kept.since("", Instant.EPOCH)).as("a key for a create has no sandbox").isEmpty();
  }

  @Test
  void whatRunningCellsKeepHasARoomOfAllTogether() {
    List<CellRecord> running =
        IntStream.range(0, 20).mapToObj(i -> add("cell-" + i, "acme", 1)).toList();
    for (CellRecord cell : running) {
      for (int i = 0; i < 64; i++) {
        cell.put(new CodeEvent.Output(ExecEvent.Channel.STDOUT, ByteBuffer.allocate(MIB / 64)));
      }
    }

    // What each may always keep, and the half of the room that one tenant may have.
    assertThat(running.stream().mapToLong(CellRecord::size).sum())
        .isBetween(MIB + 0L, MIB / 2 + 20 * (MIB / 16 + 1024L));
  }

  /** One that runs. */
  private CellRecord add(String id, String tenant, int bytes) {
    var cell = new CellRecord(room.share("any"), kept::trim);
    cell.put(new CodeEvent.Output(ExecEvent.Channel.STDOUT, ByteBuffer.allocate(bytes)));
    kept.add(id, tenant, SANDBOX, cell);
    return cell;
  }

  private static void end(CellRecord cell) {
    cell.fail(new SandboxException(ErrorCode.GUEST_LOST, "nobody knows how it ended"));
  }
}
