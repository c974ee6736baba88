package dev.carrel.server.tools;

import dev.carrel.server.http.Utf8Text;
import dev.carrel.spi.Text;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;

/** Some lines of a text that goes by, with their numbers. Keeps no more than it shows. */
final class NumberedLines extends OutputStream {
  private static final int MAX_LINE = 20_000;
  private static final int MAX_CHARS = 200_000;

  private final long first;
  private final long end;
  private final Utf8Text decoder = new Utf8Text();
  private final StringBuilder shown = new StringBuilder();
  private final StringBuilder line = new StringBuilder();
  private long number = 1;
  private boolean open;
  private boolean binary;

  /** Nothing more is needed. */
  static final class Enough extends IOException {
    private static final long serialVersionUID = 1L;
  }

  NumberedLines(long first, long limit) {
    this.first = first;
    this.end = first + limit;
  }

  @Override
  public void write(int value) throws IOException {
    write(new byte[] {(byte) value}, 0, 1);
  }

  @Override
  public void write(byte[] bytes, int offset, int length) throws IOException {
    String text = decoder.decode(ByteBuffer.wrap(bytes, offset, length));
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (c == '\0') {
        binary = true;
        throw new Enough();
      }
      if (c == '\n') {
        endLine();
      } else {
        open = true;
        if (number >= first && line.length() <= MAX_LINE) {
          line.append(c);
        }
      }
    }
  }

  private void endLine() throws Enough {
    show();
    number++;
    if (number >= end) {
      throw new Enough();
    }
    if (shown.length() > MAX_CHARS) {
      shown.append("(more lines follow; go on with offset ").append(number).append(")\n");
      throw new Enough();
    }
  }

  private void show() {
    if (number >= first) {
      boolean cut = line.length() > MAX_LINE;
      int length = Text.cut(line, MAX_LINE);
      if (length > 0 && line.charAt(length - 1) == '\r') {
        length--;
      }
      shown.append("%6d\t".formatted(number)).append(line, 0, length).append(cut ? "...\n" : "\n");
    }
    line.setLength(0);
    open = false;
  }

  boolean isBinary() {
    return binary;
  }

  /** How many lines went by. */
  long count() {
    return number - (open ? 0 : 1);
  }

  String text() {
    if (open && number < end) {
      show();
    }
    return shown.toString();
  }
}
