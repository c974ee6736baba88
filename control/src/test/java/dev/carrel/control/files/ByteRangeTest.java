package dev.carrel.control.files;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import org.junit.jupiter.api.Test;

final class ByteRangeTest {
  @Test
  void rangesAreCutToTheFile() {
    assertThat(new ByteRange(0L, 9L).within(100)).isEqualTo(new ByteRange.Slice(0, 10));
    assertThat(new ByteRange(90L, null).within(100)).isEqualTo(new ByteRange.Slice(90, 10));
    assertThat(new ByteRange(90L, Long.MAX_VALUE).within(100))
        .isEqualTo(new ByteRange.Slice(90, 10));
    assertThat(new ByteRange(null, 5L).within(100)).isEqualTo(new ByteRange.Slice(95, 5));
    assertThat(new ByteRange(null, 500L).within(100)).isEqualTo(new ByteRange.Slice(0, 100));
  }

  @Test
  void rangesOutsideAreNotSatisfiable() {
    for (ByteRange range : new ByteRange[] {new ByteRange(100L, null), new ByteRange(null, 0L)}) {
      assertThatExceptionOfType(SandboxException.class)
          .isThrownBy(() -> range.within(100))
          .matches(e -> e.code() == ErrorCode.RANGE_NOT_SATISFIABLE);
    }
    assertThatExceptionOfType(SandboxException.class).isThrownBy(() -> new ByteRange(5L, 4L));
    assertThatExceptionOfType(SandboxException.class).isThrownBy(() -> new ByteRange(null, null));
  }
}
