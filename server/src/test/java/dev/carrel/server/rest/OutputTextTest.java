package dev.carrel.server.rest;

import static dev.carrel.spi.ExecEvent.Channel.STDERR;
import static dev.carrel.spi.ExecEvent.Channel.STDOUT;
import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.control.exec.ExecOutput;
import dev.carrel.server.rest.ExecViews.Chunk;
import dev.carrel.spi.ExecEvent;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

class OutputTextTest {
  private static OutputText text(long from, boolean running, ExecEvent.Output... chunks) {
    long end = from + List.of(chunks).stream().mapToInt(one -> one.bytes().remaining()).sum();
    return OutputText.of(new ExecOutput(from, end, end, 0, running, List.of(chunks)));
  }

  /** A character a byte. */
  private static ExecEvent.Output says(ExecEvent.Channel channel, String bytes) {
    return new ExecEvent.Output(
        channel, ByteBuffer.wrap(bytes.getBytes(StandardCharsets.ISO_8859_1)));
  }

  @Test
  void aCutCharacterComesWholeThoughTheOtherStreamSpoke() {
    OutputText first = text(0, true, says(STDOUT, "a\u00e2\u0082"), says(STDERR, "x"));
    assertThat(first.chunks()).containsExactly(new Chunk("stdout", 0, "a"));
    assertThat(first.next()).isEqualTo(1);

    OutputText second =
        text(1, false, says(STDOUT, "\u00e2\u0082"), says(STDERR, "x"), says(STDOUT, "\u00ac"));
    assertThat(second.chunks())
        .containsExactly(
            new Chunk("stdout", 1, ""), new Chunk("stderr", 3, "x"), new Chunk("stdout", 4, "€"));
    assertThat(second.next()).isEqualTo(5);
  }

  @Test
  void thePageEndsBeforeTheFirstCharacterThatIsCut() {
    OutputText page =
        text(
            10,
            true,
            says(STDERR, "e"),
            says(STDOUT, "\u00f0"),
            says(STDERR, "r\u00c3"),
            says(STDOUT, "\u009f"));
    assertThat(page.chunks()).containsExactly(new Chunk("stderr", 10, "e"));
    assertThat(page.next()).isEqualTo(11);
  }

  @Test
  void whatIsCutAtTheStartIsNotWaitedFor() {
    OutputText page = text(0, true, says(STDOUT, "\u00e2"), says(STDERR, "Password: "));
    assertThat(page.chunks())
        .containsExactly(new Chunk("stdout", 0, "\ufffd"), new Chunk("stderr", 1, "Password: "));
    assertThat(page.next()).isEqualTo(11);
  }

  @Test
  void whatIsCutAtTheEndOfACommandIsSeen() {
    OutputText page = text(0, false, says(STDOUT, "a\u00e2\u0082"), says(STDERR, "x\u00c3"));
    assertThat(page.chunks())
        .containsExactly(new Chunk("stdout", 0, "a\ufffd"), new Chunk("stderr", 3, "x\ufffd"));
    assertThat(page.next()).isEqualTo(5);
  }

  @Test
  void whereAPageEndsNoOtherStreamIsCut() {
    OutputText first =
        text(
            0,
            true,
            says(STDOUT, "a"),
            says(STDERR, "\u00e2\u0082"),
            says(STDOUT, "x\u00c3"),
            says(STDERR, "\u00ac"));
    assertThat(first.chunks()).containsExactly(new Chunk("stdout", 0, "a"));
    assertThat(first.next()).isEqualTo(1);

    OutputText second =
        text(
            1,
            true,
            says(STDERR, "\u00e2\u0082"),
            says(STDOUT, "x\u00c3"),
            says(STDERR, "\u00ac"),
            says(STDOUT, "\u00a9"));
    assertThat(said(second, "stderr")).isEqualTo("€");
    assertThat(said(second, "stdout")).isEqualTo("xé");
  }

  @Test
  void whatIsWholeIsNotCutForAnother() {
    OutputText first =
        text(
            0, true, says(STDERR, "\u00e2\u0082"), says(STDOUT, "x\u00c3"), says(STDERR, "\u00ac"));
    assertThat(said(first, "stderr")).isEqualTo("€");
    assertThat(said(first, "stdout")).isEqualTo("x\ufffd");
    assertThat(first.next()).isEqualTo(5);
  }

  @Test
  void whereEveryPlaceIsWithinACharacterOfOneStreamIsFoundAtOnce() {
    var chunks = new ExecEvent.Output[8192];
    for (int i = 0; i < chunks.length; i++) {
      String rest = i < 2 ? "xx" : "\u0082\u00ac";
      chunks[i] = says(i % 2 == 0 ? STDOUT : STDERR, rest + "x".repeat(125) + "\u00e2");
    }

    long begin = System.nanoTime();
    OutputText page = text(0, true, chunks);

    // To look at all of it again for each chunk takes several times as long.
    assertThat(Duration.ofNanos(System.nanoTime() - begin)).isLessThan(Duration.ofSeconds(5));
    assertThat(page.chunks()).containsExactly(new Chunk("stdout", 0, "x".repeat(127)));
    assertThat(page.next()).isEqualTo(127);
  }

  @Test
  void aCharacterInThreePiecesIsNotTakenForTheEnd() {
    OutputText page =
        text(
            0,
            true,
            says(STDERR, "a\u00e2"),
            says(STDOUT, "b\u00f0"),
            says(STDERR, "\u0082\u00ac"),
            says(STDOUT, "\u009f"));
    assertThat(page.chunks()).containsExactly(new Chunk("stderr", 0, "a"));
    assertThat(page.next()).isEqualTo(1);
  }

  private static String said(OutputText page, String channel) {
    return page.chunks().stream()
        .filter(chunk -> chunk.channel().equals(channel))
        .map(Chunk::data)
        .collect(Collectors.joining());
  }
}
