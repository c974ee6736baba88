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

  @Test
  void withoutRoomBothEndsAreShort() {
    String text = "é".repeat(1500) + "x".repeat(100_000) + "ü".repeat(1500);
    var kept = new HeadTail(50_000, _ -> false);
    add(kept, "!" + text + "!");

    assertThat(kept.text().truncated()).isTrue();
    assertThat(kept.text().totalBytes()).isEqualTo(106_002);
    assertThat(kept.text().text()).matches("(?s)!é{511}\n\n.* 106,002 bytes in all.*\n\nü{511}!");
  }

  @Test
  void whatFitsIntoTheLeastIsWholeWithoutRoom() {
    String text = "é".repeat(1024);
    var kept = new HeadTail(50_000, _ -> false);
    add(kept, text.substring(0, 700));
    add(kept, text.substring(700));

    assertThat(kept.text()).isEqualTo(new CapturedText(text, 2048, false));
  }

  @Test
  void roomIsTakenForWhatIsKeptAndNoMore() {
    var taken = new long[1];
    var kept = new HeadTail(50_000, more -> (taken[0] += more) > 0);
    add(kept, "x".repeat(1000));
    assertThat(taken[0]).isZero();
    add(kept, "x".repeat(9000));
    assertThat(taken[0]).isBetween(8000L, 20_000L);
    add(kept, "x".repeat(1_000_000));
    assertThat(taken[0]).isBetween(220_000L, 226_000L);
  }

  @Test
  void whatIsMissingIsBetweenTheEnds() {
    var late = new HeadTail(100);
    late.skip(1000);
    add(late, "end");
    assertThat(late.text().text()).startsWith("\n\n...").endsWith("\n\nend");

    var broken = new HeadTail(100);
    add(broken, "begin");
    broken.skip(0);
    broken.skip(1000);
    add(broken, "end");
    assertThat(broken.text().truncated()).isTrue();
    assertThat(broken.text().text()).startsWith("begin\n\n...").endsWith("\n\nend");
  }

  private static void add(HeadTail kept, String text) {
    kept.add(ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8)));
  }

  private static CapturedText kept(int limit, String text) {
    var kept = new HeadTail(limit);
    add(kept, text);
    return kept.text();
  }
}
