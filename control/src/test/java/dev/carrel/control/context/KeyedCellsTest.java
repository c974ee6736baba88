package dev.carrel.control.context;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.control.exec.MemoryRoom;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import org.junit.jupiter.api.Test;

final class KeyedCellsTest {
  @Test
  void cellThatNeverRanIsOverThoughItsKeyCannotBeForgotten() {
    var cell = new CellRecord(new MemoryRoom(1 << 20).share("acme"), () -> {});

    KeyedCells.run(
        cell,
        _ -> {
          throw new SandboxException(ErrorCode.LIMIT_REACHED, "the line is full");
        },
        () -> {
          throw new SandboxException(ErrorCode.NO_SPACE, "the disk is full");
        });

    assertThat(cell.over()).isTrue();
  }
}
