package dev.carrel.egress;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.regex.Pattern;

/** Carries bodies from one connection to another, piece by piece, never whole. */
final class Bodies {
  private static final int MUCH = 16 * 1024;
  private static final int MAX_LINE = 1024;
  private static final int MAX_TRAILERS = 16 * 1024;
  private static final Pattern CHUNK = Pattern.compile("([0-9a-fA-F]{1,15})(?:[ \t]*;.*)?");

  private Bodies() {}

  /** Told of bytes before they are passed on. */
  interface Meter {
    void pass(long bytes) throws RefusedException;

    /** How much may be told of at once, where it is not in a buffer anyway. */
    default int piece() {
      return Buffers.SIZE;
    }
  }

  /**
   * @param chunks whether the receiver understands chunks; otherwise only what is in them is sent
   * @param filter what the bytes of the body go through
   */
  static void copy(Framing framing, Wire from, Wire to, boolean chunks, Meter meter, Filter filter)
      throws IOException, RefusedException {
    switch (framing) {
      case Framing.None _ -> {}
      case Framing.Length(long bytes) -> {
        var out = new Outlet(to, false, filter);
        copy(bytes, from, out, meter);
        out.end();
      }
      case Framing.Chunked _ -> {
        var out = new Outlet(to, chunks, filter);
        copyChunks(from, out, meter);
        out.end();
      }
      case Framing.UntilClose _ -> {
        var out = new Outlet(to, false, filter);
        copyAll(from, out, meter);
        out.end();
      }
    }
  }

  /**
   * Where a body goes.
   *
   * @param chunks whether each piece is a chunk
   */
  private record Outlet(Wire to, boolean chunks, Filter filter) {
    void write(ByteBuffer piece) throws IOException, RefusedException {
      ByteBuffer clean = filter.next(piece);
      Gate.requireHarmless(filter);
      send(clean);
    }

    /** What follows, if nobody has to look at it; how much that was. */
    long move(Wire from, long most, Meter meter) throws IOException, RefusedException {
      return chunks || !filter.equals(Filter.NONE) ? 0 : from.moveTo(to, most, meter);
    }

    void end() throws IOException {
      send(filter.end());
      if (chunks) {
        to.write("0\r\n\r\n");
      }
    }

    private void send(ByteBuffer piece) throws IOException {
      if (!piece.hasRemaining()) {
        return;
      }
      if (chunks) {
        to.write(Integer.toHexString(piece.remaining()) + "\r\n");
      }
      to.write(piece);
      if (chunks) {
        to.write("\r\n");
      }
    }
  }

  /** Until the sender's end. */
  static void copyAll(Wire from, Wire to, Meter meter) throws IOException, RefusedException {
    copyAll(from, new Outlet(to, false, Filter.NONE), meter);
  }

  private static void copyAll(Wire from, Outlet to, Meter meter)
      throws IOException, RefusedException {
    do {
      pass(from, to, Long.MAX_VALUE, meter);
    } while (from.fill());
  }

  /** So many bytes. */
  static void copy(long bytes, Wire from, Wire to, Meter meter)
      throws IOException, RefusedException {
    copy(bytes, from, new Outlet(to, false, Filter.NONE), meter);
  }

  private static void copy(long bytes, Wire from, Outlet to, Meter meter)
      throws IOException, RefusedException {
    long left = bytes;
    while (left > 0) {
      if (!from.input().hasRemaining() && !from.fill()) {
        throw new EOFException("the body ended too early");
      }
      left -= pass(from, to, left, meter);
    }
  }

  private static long pass(Wire from, Outlet to, long most, Meter meter)
      throws IOException, RefusedException {
    ByteBuffer input = from.input();
    int bytes = (int) Math.min(most, input.remaining());
    if (bytes == 0) {
      return 0;
    }
    meter.pass(bytes);
    ByteBuffer piece = input.slice(input.position(), bytes);
    to.write(piece);
    input.position(input.position() + bytes);
    // Behind much there is more, which no copy need carry.
    return bytes < MUCH || bytes == most ? bytes : bytes + to.move(from, most - bytes, meter);
  }

  private static void copyChunks(Wire from, Outlet to, Meter meter)
      throws IOException, RefusedException {
    while (true) {
      var line = CHUNK.matcher(line(from, MAX_LINE));
      if (!line.matches()) {
        throw RefusedException.malformed("a chunk has no size");
      }
      long size = Long.parseLong(line.group(1), 16);
      if (size == 0) {
        break;
      }
      copy(size, from, to, meter);
      if (!line(from, 0).isEmpty()) {
        throw RefusedException.malformed("a chunk is longer than it says");
      }
    }
    // Trailers are fields that nobody has checked: they end here.
    int left = MAX_TRAILERS;
    for (String line = line(from, MAX_LINE); !line.isEmpty(); line = line(from, MAX_LINE)) {
      left -= line.length();
      if (left < 0) {
        throw RefusedException.malformed("too many trailers");
      }
    }
  }

  private static String line(Wire from, int max) throws IOException, RefusedException {
    for (int i = 0; ; i++) {
      if (!from.fill(i + 2)) {
        throw new EOFException("the body ended within a line");
      }
      ByteBuffer input = from.input();
      byte c = input.get(input.position() + i);
      if (c == '\r') {
        if (input.get(input.position() + i + 1) != '\n') {
          throw RefusedException.malformed("a line does not end in CR LF");
        }
        byte[] text = new byte[i];
        input.get(text).position(input.position() + 2);
        return new String(text, StandardCharsets.ISO_8859_1);
      }
      if (i >= max || c == '\n') {
        throw RefusedException.malformed("a line within a body is wrong or too long");
      }
    }
  }
}
