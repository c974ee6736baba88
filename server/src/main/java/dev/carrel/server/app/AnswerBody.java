package dev.carrel.server.app;

import java.io.IOException;
import java.io.InputStream;

/** The body of an app's answer, as it arrives. One that ends early throws. */
final class AnswerBody extends InputStream {
  private static final int MAX_LINE = 1024;
  private static final int MAX_TRAILERS = 64;
  private static final int MAX_SIZE_DIGITS = 15;

  private final AppInput in;
  private final boolean chunked;
  private final boolean bounded;
  private long left;
  private boolean ended;
  private boolean first = true;

  AnswerBody(AppInput in, long length) {
    this.in = in;
    this.chunked = length == AnswerHead.CHUNKED;
    this.bounded = length >= 0;
    this.left = Math.max(length, 0);
    this.ended = length == 0;
  }

  @Override
  public int read() throws IOException {
    byte[] one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
  }

  @Override
  public int read(byte[] bytes, int offset, int length) throws IOException {
    if (ended || length == 0) {
      return ended ? -1 : 0;
    }
    if (chunked && left == 0 && !nextChunk()) {
      ended = true;
      return -1;
    }
    boolean limited = chunked || bounded;
    int count = in.read(bytes, offset, limited ? (int) Math.min(length, left) : length);
    if (count < 0 && limited) {
      throw new AppBrokeOff("its body ended " + left + " bytes too early");
    }
    if (limited) {
      left -= count;
      ended = bounded && left == 0;
    } else {
      ended = count < 0;
    }
    return count;
  }

  private boolean nextChunk() throws IOException {
    if (!first && !in.line(0).isEmpty()) {
      throw new AppBrokeOff("a chunk is longer than it says");
    }
    first = false;
    String line = in.line(MAX_LINE);
    int extension = line.indexOf(';');
    left = size((extension < 0 ? line : line.substring(0, extension)).strip());
    if (left > 0) {
      return true;
    }
    for (int i = 0; i < MAX_TRAILERS; i++) {
      if (in.line(MAX_LINE).isEmpty()) {
        return false;
      }
    }
    throw new AppBrokeOff("it has too many trailers");
  }

  private static long size(String digits) throws AppBrokeOff {
    if (digits.isEmpty()
        || digits.length() > MAX_SIZE_DIGITS
        || !digits.chars().allMatch(AnswerBody::isHex)) {
      throw new AppBrokeOff("a chunk has no valid size");
    }
    return Long.parseLong(digits, 16);
  }

  private static boolean isHex(int c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
  }
}
