package dev.carrel.sdk;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

class CharactersTest {
  @Test
  void oneThatIsSplitComesWithItsLastByte() {
    byte[] euro = "1€𝄞".getBytes(StandardCharsets.UTF_8);
    var characters = new Characters();
    var text = new StringBuilder();
    for (byte each : euro) {
      text.append(characters.of(new byte[] {each}));
    }

    assertThat(text).hasToString("1€𝄞");
  }

  @Test
  void whatIsNoCharacterIsReplaced() {
    var characters = new Characters();

    assertThat(characters.of(new byte[] {'a', (byte) 0xff, 'b', (byte) 0xe2}))
        .isEqualTo("a\ufffdb");
    assertThat(characters.of(new byte[] {'c'})).isEqualTo("\ufffdc");
  }
}
