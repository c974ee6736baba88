package dev.carrel.control.bridge;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.TextNode;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.Language;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

class BridgeTest {
  @Test
  void moreValuesThanCanBeHeldAreRefusedBeforeTheyAreMade() {
    for (String value : new String[] {"{}", "[]", "1", "{\"a\":1}"}) {
      String many = "[" + (value + ",").repeat(4_000_000 / value.length()) + value + "]";
      tooLarge(() -> parsed(Language.PYTHON, many));
      tooLarge(() -> parsed(Language.BASH, many));
    }
  }

  @Test
  void manyValuesAreCarried() throws IOException {
    assertThat(parsed(Language.PYTHON, "[" + "1,".repeat(499_998) + "1]")).hasSize(499_999);
  }

  @Test
  void textOfManyNumbersIsTextInBash() throws IOException {
    String text = "1 2\n".repeat(1_000_000);
    assertThat(parsed(Language.BASH, text)).isEqualTo(TextNode.valueOf(text));
  }

  @Test
  void whatGrowsTooLongAsCodeOfRIsRefused() {
    tooLarge(() -> RCode.of(TextNode.valueOf("!".repeat(4_000_000))));
  }

  private static JsonNode parsed(Language language, String text) throws IOException {
    var variable = new Variable(SandboxId.random(), language, null, "x");
    return Bridge.parsed(variable, text.getBytes(StandardCharsets.UTF_8));
  }

  private static void tooLarge(ThrowingCallable call) {
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(call)
        .matches(e -> e.code() == ErrorCode.TOO_LARGE);
  }
}
