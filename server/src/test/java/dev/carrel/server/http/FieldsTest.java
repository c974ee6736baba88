package dev.carrel.server.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.carrel.spi.SandboxException;
import java.nio.charset.StandardCharsets;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class FieldsTest {
  private static Fields parse(String json) {
    return Fields.parse(json.getBytes(StandardCharsets.UTF_8));
  }

  @Test
  void absentAndNullAreTheSame() {
    Fields fields = parse("{\"a\":null}");
    assertThat(fields.string("a")).isNull();
    assertThat(fields.wholeNumber("b", 0, 1)).isNull();
    assertThat(fields.bool("c", true)).isTrue();
  }

  @ParameterizedTest
  @ValueSource(strings = {"\"5\"", "5.5", "true", "[]", "{}"})
  void aWholeNumberIsNothingElse(String value) {
    assertThatThrownBy(() -> parse("{\"n\":" + value + "}").wholeNumber("n", 0, 1000))
        .isInstanceOfSatisfying(SandboxException.class, e -> assertThat(e.field()).contains("n"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"-1", "1001", "99999999999999999999999999"})
  void aWholeNumberIsWithinItsRange(String value) {
    assertThatThrownBy(() -> parse("{\"n\":" + value + "}").wholeNumber("n", 0, 1000))
        .hasMessageContaining("between 0 and 1000");
  }

  @Test
  void hugeDecimalsAreRefused() {
    assertThatThrownBy(() -> parse("{\"n\":1e999}").decimal("n")).hasMessageContaining("too large");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"{", "nope", "{\"a\":1}x", "{\"a\":1,\"a\":2}", "{'a':1}", "[1,2", "\u0000"})
  void whatIsNotJsonIsUnreadable(String body) {
    assertThatThrownBy(() -> parse(body))
        .isInstanceOfSatisfying(
            HttpProblem.class,
            problem -> {
              assertThat(problem.status()).isEqualTo(400);
              assertThat(problem.field()).isEqualTo("body");
            });
  }

  @Test
  void depthAndNumbersAreBounded() {
    assertThatThrownBy(() -> parse("{\"a\":" + "[".repeat(100) + "]".repeat(100) + "}"))
        .isInstanceOf(HttpProblem.class);
    assertThatThrownBy(() -> parse("{\"a\":" + "9".repeat(10_000) + "}"))
        .isInstanceOf(HttpProblem.class);
  }

  @ParameterizedTest
  @ValueSource(strings = {"3", "3.0", "0.3e1", "30e-1"})
  void aWholeNumberMayBeWrittenAsADecimal(String number) {
    assertThat(parse("{\"a\":" + number + "}").wholeNumber("a", 0, 1, 5)).isEqualTo(3);
  }

  @ParameterizedTest
  @ValueSource(strings = {"3.1", "1e400", "-1e400", "9223372036854775808", "1e19", "\"3\"", "true"})
  void whatIsNoWholeNumberOrTooLargeIsRefused(String number) {
    assertThatThrownBy(() -> parse("{\"a\":" + number + "}").wholeNumber("a", 0, Long.MAX_VALUE))
        .isInstanceOf(SandboxException.class);
  }

  @Test
  void onlyAnObjectIsABody() {
    assertThatThrownBy(() -> parse("[]")).isInstanceOf(SandboxException.class);
    assertThat(parse("").string("a")).isNull();
  }

  @Test
  void halvesOfCharactersAreRefused() {
    assertThatThrownBy(() -> parse("{\"a\":\"\\ud800\"}").string("a"))
        .hasMessageContaining("surrogate");
    assertThat(parse("{\"a\":\"\\ud83d\\ude00\"}").string("a")).isEqualTo("😀");
  }

  @Test
  void nestedFieldsAreNamedInFull() {
    Fields terminal = parse("{\"terminal\":{\"rows\":\"x\"}}").object("terminal");
    assertThatThrownBy(() -> Objects.requireNonNull(terminal).wholeNumber("rows", 1, 2))
        .hasMessageStartingWith("terminal.rows");
  }
}
