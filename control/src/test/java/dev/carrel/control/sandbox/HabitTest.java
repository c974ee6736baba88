package dev.carrel.control.sandbox;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.spi.Language;
import dev.carrel.spi.Preload;
import org.junit.jupiter.api.Test;

final class HabitTest {
  private static final Interpreter PLAIN = new Interpreter(Language.PYTHON, Preload.PLAIN);
  private static final Interpreter DATA = new Interpreter(Language.PYTHON, Preload.DATA);

  private final Habit habit = new Habit();

  @Test
  void theLastOneTellsWhatTheNextBeginsWith() {
    assertThat(habit.interpreters()).isEmpty();

    habit.begunWith(PLAIN);
    habit.begunWith(DATA);

    assertThat(habit.interpreters()).containsExactly(DATA);
  }

  @Test
  void whoeverUsesItKeepsIt() {
    habit.begunWith(PLAIN);
    for (int box = 0; box < 100; box++) {
      habit.taken();
      if (box % 4 == 0) {
        habit.begunWith(PLAIN);
      }
    }

    assertThat(habit.interpreters()).containsExactly(PLAIN);
  }

  @Test
  void manyInARowInVainEndIt() {
    habit.begunWith(PLAIN);
    for (int box = 0; box < 8; box++) {
      habit.taken();
    }

    assertThat(habit.interpreters()).isEmpty();
  }
}
