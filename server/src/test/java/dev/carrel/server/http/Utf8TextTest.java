package dev.carrel.server.http;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

class Utf8TextTest {
  @Test
  void charactersSurviveEveryCut() {
    byte[] bytes = "aé€😀z".getBytes(StandardCharsets.UTF_8);
    for (int cut = 0; cut <= bytes.length; cut++) {
      var text = new Utf8Text();
      String decoded =
          text.decode(ByteBuffer.wrap(bytes, 0, cut))
              + text.decode(ByteBuffer.wrap(bytes, cut, bytes.length - cut))
              + text.end();
      assertThat(decoded).as("cut at %d", cut).isEqualTo("aé€😀z");
    }
  }

  @Test
  void oneByteAtATime() {
    var text = new Utf8Text();
    var decoded = new StringBuilder();
    for (byte b : "é😀".getBytes(StandardCharsets.UTF_8)) {
      decoded.append(text.decode(ByteBuffer.wrap(new byte[] {b})));
    }
    assertThat(decoded + text.end()).isEqualTo("é😀");
  }

  @Test
  void brokenBytesAreReplaced() {
    var text = new Utf8Text();
    assertThat(text.decode(ByteBuffer.wrap(new byte[] {'a', (byte) 0xff, 'b', (byte) 0xe2})))
        .isEqualTo("a\ufffdb");
    assertThat(text.pending()).isEqualTo(1);
    assertThat(text.end()).isEqualTo("\ufffd");
    assertThat(text.pending()).isZero();
  }
}
