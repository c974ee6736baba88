package dev.carrel.cli;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/** Lines of which none is kept that is longer than allowed. What is not UTF-8 is replaced. */
final class InputLines {
  private static final int END = -1;

  private final InputStream in;
  private final int max;

  InputLines(InputStream in, int max) {
    this.in = new BufferedInputStream(in);
    this.max = max;
  }

  /**
   * One line.
   *
   * @param tooLong then the text is empty, and the next line is the next
   */
  record Line(String text, boolean tooLong) {}

  /** Null at the end. */
  @Nullable Line next() throws IOException {
    var line = new ByteArrayOutputStream();
    boolean tooLong = false;
    int read = in.read();
    if (read == END) {
      return null;
    }
    for (; read != END && read != '\n'; read = in.read()) {
      if (line.size() < max) {
        line.write(read);
      } else {
        tooLong = true;
      }
    }
    return tooLong ? new Line("", true) : new Line(line.toString(StandardCharsets.UTF_8), false);
  }
}
