package dev.carrel.spi;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class TextTest {
  private static final String FACE = "\ud83d\ude00";

  @Test
  void noCharacterIsHalvedAtTheEnd() {
    assertThat(Text.head("a" + FACE + "b", 1)).isEqualTo("a");
    assertThat(Text.head("a" + FACE + "b", 2)).isEqualTo("a");
    assertThat(Text.head("a" + FACE + "b", 3)).isEqualTo("a" + FACE);
    assertThat(Text.head(FACE, 1)).isEmpty();
    assertThat(Text.head(FACE, 9)).isEqualTo(FACE);
    assertThat(Text.head("ab", 0)).isEmpty();
  }

  @Test
  void noCharacterIsHalvedAtTheBeginning() {
    assertThat(Text.tail("a" + FACE + "b", 1)).isEqualTo("b");
    assertThat(Text.tail("a" + FACE + "b", 2)).isEqualTo("b");
    assertThat(Text.tail("a" + FACE + "b", 3)).isEqualTo(FACE + "b");
    assertThat(Text.tail(FACE, 1)).isEmpty();
    assertThat(Text.tail(FACE, 9)).isEqualTo(FACE);
    assertThat(Text.tail("ab", 0)).isEmpty();
  }
}
