package dev.carrel.server.http;

import io.helidon.common.buffers.BufferData;
import io.helidon.common.buffers.DataReader;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;

/**
 * A request's body in chunks, as it arrives. Helidon would hold a whole chunk in memory, however
 * large its sender declares it; this reads past Helidon, so the connection ends with the answer.
 */
final class ChunkedBody extends InputStream {
  private static final int MAX_LINE = 256;
  private static final int MAX_TRAILERS = 64;
  private static final int MAX_SIZE_DIGITS = 15;
  private static final byte[] CONTINUE =
      "HTTP/1.1 100 Continue\r\n\r\n".getBytes(StandardCharsets.US_ASCII);

  private final Connection connection;
  private boolean mustSayContinue;
  private boolean firstChunk = true;
  private long left;
  private boolean ended;

  /**
   * @param expectsContinue the client waits for a word before it sends anything
   */
  ChunkedBody(Connection connection, boolean expectsContinue) {
    this.connection = connection;
    this.mustSayContinue = expectsContinue;
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
    sayContinue();
    if (left == 0 && !nextChunk()) {
      ended = true;
      return -1;
    }
    DataReader reader = connection.reader();
    reader.ensureAvailable();
    int count = (int) Math.min(Math.min(length, left), reader.available());
    reader.readBuffer(count).read(bytes, offset, count);
    left -= count;
    return count;
  }

  private void sayContinue() {
    if (mustSayContinue) {
      mustSayContinue = false;
      connection.context().dataWriter().writeNow(BufferData.create(CONTINUE));
    }
  }

  private boolean nextChunk() {
    if (!firstChunk && !line().isEmpty()) {
      throw HttpProblem.unreadable("body", "a chunk is longer than it says");
    }
    firstChunk = false;
    String line = line();
    int extension = line.indexOf(';');
    left = size((extension < 0 ? line : line.substring(0, extension)).strip());
    if (left > 0) {
      return true;
    }
    for (int i = 0; i < MAX_TRAILERS; i++) {
      if (line().isEmpty()) {
        return false;
      }
    }
    throw HttpProblem.unreadable("body", "has too many trailers");
  }

  private static long size(String digits) {
    if (digits.isEmpty()
        || digits.length() > MAX_SIZE_DIGITS
        || !digits.chars().allMatch(c -> Character.digit(c, 16) >= 0)) {
      throw HttpProblem.unreadable("body", "a chunk has no valid size");
    }
    return Long.parseLong(digits, 16);
  }

  private String line() {
    DataReader reader = connection.reader();
    int end;
    try {
      end = reader.findNewLine(MAX_LINE);
    } catch (DataReader.IncorrectNewLineException e) {
      throw HttpProblem.unreadable("body", "a chunk's first line does not end in CR and LF");
    }
    if (end >= MAX_LINE) {
      throw HttpProblem.unreadable("body", "a chunk's first line is too long");
    }
    String line = end == 0 ? "" : reader.readAsciiString(end);
    reader.skip(2);
    return line;
  }
}
