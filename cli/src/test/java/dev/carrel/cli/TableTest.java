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
  void whatACellHoldsCannotMoveTheCursorOrHideText() {
    var table =
        new Table(
            List.of(),
            List.of(
                List.of("a\033[1A\033[2Kb\r\nc\u009b8m", "\033[31mbad\033[0m", "\033[8mx\033")));

    assertThat(table.lines()).containsExactly("a?[1A?[2Kb??c?8m  \033[31mbad\033[0m  ?[8mx?");
  }

  @Test
  void noHeadAndNoRowsAreFine() {
    assertThat(new Table(List.of(), List.of()).lines()).isEmpty();
  }
}
