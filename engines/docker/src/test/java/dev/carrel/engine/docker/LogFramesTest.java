package dev.carrel.engine.docker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

class LogFramesTest {
  @Test
  void linesArePutTogetherAcrossPieces() throws IOException {
    assertThat(lines(framed("one\ntw", "o\r\n", "", "\nlast")))
        .containsExactly("one", "two", "", "last");
    assertThat(lines(new byte[0])).isEmpty();
  }

  @Test
  void lineWithoutAnEndIsCut() throws IOException {
    String long64k = "x".repeat(64 << 10);

    assertThat(lines(framed(long64k, long64k + "\nnext\n")))
        .containsExactly("x".repeat(8 << 10), "next");
  }

  @Test
  void pieceThatBreaksOffIsNoEnd() {
    byte[] framed = framed("line\n");

    assertThatExceptionOfType(EOFException.class)
        .isThrownBy(() -> lines(Arrays.copyOf(framed, framed.length - 1)));
  }

  private static List<String> lines(byte[] framed) throws IOException {
    var lines = new ArrayList<String>();
    LogFrames.lines(new ByteArrayInputStream(framed), lines::add);
    return lines;
  }

  private static byte[] framed(String... pieces) {
    var bytes = new ByteArrayOutputStream();
    for (String piece : pieces) {
      byte[] content = piece.getBytes(StandardCharsets.UTF_8);
      byte[] header = ByteBuffer.allocate(8).put((byte) 1).putInt(4, content.length).array();
      bytes.writeBytes(header);
      bytes.writeBytes(content);
    }
    return bytes.toByteArray();
  }
}
