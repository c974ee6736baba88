package dev.carrel.control.context;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.spi.Language;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

final class LateBindingTest {
  @ParameterizedTest
  @EnumSource(Language.class)
  void ordinaryVariablesCanComeLate(Language language) {
    assertThat(LateBinding.suits(language, Set.of())).isTrue();
    assertThat(LateBinding.suits(language, Set.of("API_KEY", "_x1", "HOME", "PATH", "LANGUAGES")))
        .isTrue();
  }

  @ParameterizedTest
  @EnumSource(Language.class)
  void whatTheStartReadsCannot(Language language) {
    for (String name : new String[] {"LD_PRELOAD", "LC_ALL", "LANG", "TZ"}) {
      assertThat(LateBinding.suits(language, Set.of("FINE", name))).as(name).isFalse();
    }
  }

  @ParameterizedTest
  @CsvSource({
    "PYTHON, PYTHONPATH",
    "PYTHON, OMP_NUM_THREADS",
    "NODE, NODE_OPTIONS",
    "R, R_LIBS",
    "BASH, BASH_ENV"
  })
  void eachInterpreterHasItsOwn(Language language, String name) {
    assertThat(LateBinding.suits(language, Set.of(name))).isFalse();
    Language other = language == Language.BASH ? Language.NODE : Language.BASH;
    assertThat(LateBinding.suits(other, Set.of(name))).isTrue();
  }

  @Test
  void bashHasOnlyIdentifiers() {
    for (String name : new String[] {"a.b", "1st", "x y", "a[0]", "line\nbreak", "end\n"}) {
      assertThat(LateBinding.suits(Language.BASH, Set.of(name))).as(name).isFalse();
      assertThat(LateBinding.suits(Language.PYTHON, Set.of(name))).as(name).isTrue();
    }
  }
}
