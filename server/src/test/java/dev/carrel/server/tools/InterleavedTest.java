package dev.carrel.server.tools;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.spi.ExecEvent.Channel;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

class InterleavedTest {
  private final Interleaved both = new Interleaved();

  @Test
  void whatIsNoUtf8IsNotCutInSilence() {
    var bytes = new byte[40_000];
    Arrays.fill(bytes, (byte) 0xff);
    both.add(Channel.STDOUT, ByteBuffer.wrap(bytes));
    both.end();
    assertThat(both.shown(2000, 30_000))
        .startsWith("\ufffd".repeat(15_000) + "\n\n...0 lines (10000 characters) truncated...")
        .endsWith(" Read.\n\n" + "\ufffd".repeat(15_000));
  }

  @Test
  void halfACharacterAtTheEndIsShownAndNothingIsCut() {
    both.add(Channel.STDOUT, ByteBuffer.wrap(new byte[] {'a', (byte) 0xc3}));
    both.end();
    assertThat(both.shown(2000, 30_000)).isEqualTo("a\ufffd");
  }

  @Test
  void bothStreamsAreWholeEachForItself() {
    byte[] umlaut = "ä".getBytes(StandardCharsets.UTF_8);
    both.add(Channel.STDOUT, ByteBuffer.wrap(umlaut, 0, 1));
    both.add(Channel.STDERR, ByteBuffer.wrap("x\n".getBytes(StandardCharsets.UTF_8)));
    both.add(Channel.STDOUT, ByteBuffer.wrap(umlaut, 1, 1));
    both.end();
    assertThat(both.shown(2000, 30_000)).isEqualTo("x\nä");
  }

  @Test
  void linesThatAreLeftOutAreCounted() {
    say(Channel.STDOUT, "1\n2\n3\n4\n5\n6");
    both.end();
    assertThat(both.shown(3, 30_000))
        .startsWith("1\n2\n\n...3 lines (6 characters) truncated... ")
        .endsWith(".\n\n6");
    assertThat(both.shown(6, 30_000)).isEqualTo("1\n2\n3\n4\n5\n6");
  }

  @Test
  void ofMuchOutputTheEndIsShownAsTheBeginningInTheOrderOfItsComing() {
    say(Channel.STDOUT, "first\n");
    for (int i = 0; i < 20_000; i++) {
      say(i % 2 == 0 ? Channel.STDOUT : Channel.STDERR, "line " + i + "\n");
    }
    say(Channel.STDERR, "it failed");
    both.end();
    String shown = both.shown(2000, 30_000);
    assertThat(shown)
        .startsWith("first\nline 0\nline 1\nline 2\n")
        .contains("\nline 998\n\n...18002 lines (")
        .contains(" Read.\n\nline 19001\nline 19002\n")
        .endsWith("\nline 19999\nit failed");
  }

  @Test
  void whatWasLostBeforeItCameIsTold() {
    say(Channel.STDOUT, "a");
    both.miss(70_000);
    say(Channel.STDOUT, "b");
    both.end();
    assertThat(both.shown(2000, 30_000)).isEqualTo("a\n...70000 bytes were lost here...\nb");
  }

  @Test
  void noCharacterIsHalvedAtEitherCut() {
    String face = "\ud83d\ude00";
    say(Channel.STDOUT, "a" + face.repeat(50) + "b");
    both.end();
    assertThat(both.shown(2000, 20))
        .startsWith("a" + face.repeat(4) + "\n\n...0 lines (84 characters) truncated...")
        .endsWith(".\n\n" + face.repeat(4) + "b");
  }

  private void say(Channel channel, String text) {
    both.add(channel, ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8)));
  }
}
