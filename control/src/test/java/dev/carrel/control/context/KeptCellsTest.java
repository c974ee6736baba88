package dev.carrel.control.context;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.control.idempotency.KeySettings;
import dev.carrel.spi.DataSize;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.ExecEvent;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.nio.ByteBuffer;
import java.time.Duration;
import org.junit.jupiter.api.Test;

final class KeptCellsTest {
  private static final int MIB = 1 << 20;
  private static final SandboxId SANDBOX = SandboxId.random();

  private final DisplayRoom room = new DisplayRoom(MIB);
  private final KeptCells kept =
      new KeptCells(new KeySettings(256, Duration.ofDays(1), DataSize.ofMebibytes(8)));

  @Test
  void cellsThatRunTakeNothingFromThoseThatAreOver() {
    add("over", "acme", over(100));

    for (int i = 0; i < 20; i++) {
      add("running-" + i, "acme", running(MIB));
    }

    assertThat(kept.find("over")).isPresent();
  }

  @Test
  void whoHasMostLosesTheOldest() {
    add("small", "acme", over(100));
    for (int i = 0; i < 4; i++) {
      add("large-" + i, "evil", over(3 * MIB));
    }
    add("next", "evil", running(0));

    assertThat(kept.find("small")).isPresent();
    assertThat(kept.find("large-0")).isEmpty();
    assertThat(kept.find("large-1")).isEmpty();
    assertThat(kept.find("large-2")).isPresent();
    assertThat(kept.find("large-3")).isPresent();
    assertThat(kept.find("next")).isPresent();
  }

  @Test
  void tenantsWithMuchHaveTheSameInTheEnd() {
    for (int i = 0; i < 5; i++) {
      add("one-" + i, "one", over(MIB));
      add("two-" + i, "two", over(MIB));
    }
    add("next", "three", running(0));

    assertThat(kept.find("one-1")).isEmpty();
    assertThat(kept.find("two-1")).isEmpty();
    assertThat(kept.find("one-2")).isPresent();
    assertThat(kept.find("two-2")).isPresent();
  }

  private void add(String id, String tenant, CellRecord cell) {
    kept.add(id, tenant, SANDBOX, cell);
  }

  private CellRecord over(int bytes) {
    CellRecord cell = running(bytes);
    cell.fail(new SandboxException(ErrorCode.GUEST_LOST, "nobody knows how it ended"));
    return cell;
  }

  private CellRecord running(int bytes) {
    var cell = new CellRecord(room.share("any"));
    cell.put(new CodeEvent.Output(ExecEvent.Channel.STDOUT, ByteBuffer.allocate(bytes)));
    return cell;
  }
}
