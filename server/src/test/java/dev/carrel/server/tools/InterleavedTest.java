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
        .startsWith("\ufffd".repeat(30_000) + "\n\n...0 lines (10000 characters) truncated...");
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
    both.add(Channel.STDOUT, ByteBuffer.wrap("1\n2\n3\n4\n".getBytes(StandardCharsets.UTF_8)));
    both.end();
    assertThat(both.shown(3, 30_000)).startsWith("1\n2\n3\n\n...1 lines (2 characters) truncated");
  }
}
