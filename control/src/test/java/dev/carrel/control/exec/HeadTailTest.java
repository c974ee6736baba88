package dev.carrel.control.exec;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Random;
import org.junit.jupiter.api.Test;

final class HeadTailTest {
  @Test
  void whatFitsIsWhole() {
    assertThat(kept(10, "0123456789")).isEqualTo(new CapturedText("0123456789", 10, false));
    assertThat(kept(10, "éééééééééé").text()).isEqualTo("éééééééééé");
    assertThat(kept(10, "")).isEqualTo(new CapturedText("", 0, false));
  }

  @Test
  void whatDoesNotFitKeepsBothEndsAndSaysHowMuchThereWas() {
    for (int size : new int[] {11, 29, 30, 31, 46, 100, 1_000_000}) {
      var text = new StringBuilder();
      for (int i = 0; i < size; i++) {
        text.append((char) ('a' + i % 26));
      }
      CapturedText kept = kept(10, text.toString());
      assertThat(kept.truncated()).isTrue();
      assertThat(kept.totalBytes()).isEqualTo(size);
      assertThat(kept.text())
          .startsWith("abcde\n\n... [truncated: ")
          .contains(String.format("%,d bytes in all", size))
          .endsWith("...\n\n" + text.substring(size - 5));
    }
  }

  @Test
  void charactersAreNotCutInHalf() {
    String text = "😀".repeat(1000) + "é".repeat(1000);
    assertThat(kept(11, text).text()).doesNotContain("\uFFFD");
    assertThat(kept(10, text).text()).doesNotContain("\uFFFD").endsWith("ééééé");
    assertThat(HeadTail.shorten("😀".repeat(10), 7)).doesNotContain("?");
  }

  @Test
  void theWayItArrivesMakesNoDifference() {
    var random = new Random(7);
    byte[] bytes = new byte[5000];
    random.nextBytes(bytes);
    var whole = new HeadTail(100);
    whole.add(ByteBuffer.wrap(bytes));
    var pieces = new HeadTail(100);
    for (int at = 0; at < bytes.length; ) {
      int length = Math.min(bytes.length - at, random.nextInt(300));
      pieces.add(ByteBuffer.wrap(bytes, at, length));
      at += length;
    }
    assertThat(pieces.text()).isEqualTo(whole.text());
  }

  private static CapturedText kept(int limit, String text) {
    var kept = new HeadTail(limit);
    kept.add(ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8)));
    return kept.text();
  }
}
