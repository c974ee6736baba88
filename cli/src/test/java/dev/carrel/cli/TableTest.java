package dev.carrel.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

class TableTest {
  @Test
  void columnsAlignWhateverTheColours() {
    var table =
        new Table(
            List.of("A", "B"), List.of(List.of("\033[32mlong\033[0m", "x"), List.of("ü", "y")));

    assertThat(table.lines()).containsExactly("A     B", "\033[32mlong\033[0m  x", "ü     y");
  }

  @Test
  void noHeadAndNoRowsAreFine() {
    assertThat(new Table(List.of(), List.of()).lines()).isEmpty();
  }
}
