package dev.carrel.control.files;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class ArchiveTest {
  @Test
  void sizesThatNoNumberHoldsAreTheLargestThereIs() {
    long exbibytes = 5L << 60;
    assertThat(Archive.sum(1, 2)).isEqualTo(3);
    assertThat(Archive.sum(exbibytes, exbibytes)).isEqualTo(Long.MAX_VALUE);
    assertThat(Archive.sum(Long.MAX_VALUE, exbibytes)).isEqualTo(Long.MAX_VALUE);
  }
}
