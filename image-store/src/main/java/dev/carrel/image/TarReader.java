package dev.carrel.image;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.time.DateTimeException;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Reads a tar of unknown origin as a stream: ustar, GNU's long names and POSIX's extended headers.
 * What it cannot read for certain it refuses. For one thread.
 */
final class TarReader {
  private static final int BLOCK = 512;
  private static final int MAX_NAME = 4096;
  private static final int MAX_EXTENDED = 1 << 20;
  private static final int MODE = 100;
  private static final int SIZE = 124;
  private static final int MODIFIED = 136;
  private static final int CHECKSUM = 148;
  private static final int TYPE = 156;
  private static final int LINK = 157;
  private static final int MAGIC = 257;
  private static final int PREFIX = 345;
  private static final byte NEGATIVE = (byte) 0xff;

  private final InputStream in;
  private final Refusal refusal;
  private final byte[] block = new byte[BLOCK];
  private long left;
  private int padding;

  /**
   * @param refusal how it says that it is not to be read
   */
  TarReader(InputStream in, Refusal refusal) {
    this.in = in;
    this.refusal = refusal;
  }

  /** The next entry; what was not read of the last one is passed over. Null at the end. */
  @Nullable TarEntry next() throws IOException {
    var extended = new HashMap<String, String>();
    while (true) {
      skipRest();
      if (!readBlock()) {
        return null;
      }
      long size = number(SIZE, 12);
      switch (block[TYPE]) {
        case 'x' -> extended(size, extended);
        // Defaults for all that follow: nothing in them matters to us.
        case 'g' -> content(size, MAX_EXTENDED);
        case 'L' -> extended.put("path", name(content(size, MAX_NAME + 1)));
        case 'K' -> extended.put("linkpath", name(content(size, MAX_NAME + 1)));
        default -> {
          return entry(size, extended);
        }
      }
    }
  }

  /** Reads of the present entry; negative at its end. */
  int read(byte[] buffer) throws IOException {
    if (left == 0) {
      return -1;
    }
    int count = in.read(buffer, 0, (int) Math.min(buffer.length, left));
    if (count < 0) {
      throw new EOFException("the archive ends within a file");
    }
    left -= count;
    return count;
  }

  private TarEntry entry(long headerSize, Map<String, String> extended) {
    // Where there is a longer one, the header's own may be cut within a character.
    String longName = extended.get("path");
    String longLink = extended.get("linkpath");
    String name = longName == null ? headerName() : longName;
    String link = longLink == null ? text(LINK, 100) : longLink;
    if (name.length() > MAX_NAME || link.length() > MAX_NAME) {
      throw refusal.because("a name has more than " + MAX_NAME + " characters");
    }
    if (extended.keySet().stream().anyMatch(key -> key.startsWith("GNU.sparse"))) {
      throw refusal.because("sparse files are not supported");
    }
    long size = headerSize;
    if (extended.containsKey("size")) {
      size = decimal(extended.get("size"));
    }
    TarEntry.Type type =
        switch (block[TYPE]) {
          case 0, '0', '7' -> name.endsWith("/") ? TarEntry.Type.DIRECTORY : TarEntry.Type.FILE;
          case '1' -> TarEntry.Type.HARDLINK;
          case '2' -> TarEntry.Type.SYMLINK;
          case '3', '4', '6' -> TarEntry.Type.NODE;
          case '5' -> TarEntry.Type.DIRECTORY;
          default ->
              throw refusal.because("an entry of unknown type " + (block[TYPE] & 0xff) + " in it");
        };
    begin(type == TarEntry.Type.FILE ? size : 0);
    return new TarEntry(type, name, link, (int) number(MODE, 8) & 0xfff, left, modified());
  }

  private Instant modified() {
    try {
      return Instant.ofEpochSecond(
          block[MODIFIED] == NEGATIVE ? negative(MODIFIED, 12) : number(MODIFIED, 12));
    } catch (DateTimeException e) {
      return Instant.EPOCH;
    }
  }

  private String headerName() {
    String name = text(0, 100);
    boolean posix = text(MAGIC, 6).equals("ustar");
    String prefix = posix ? text(PREFIX, 155) : "";
    return prefix.isEmpty() ? name : prefix + "/" + name;
  }

  /** Records of the form {@code LENGTH KEY=VALUE\n}. */
  private void extended(long size, Map<String, String> into) throws IOException {
    byte[] records = content(size, MAX_EXTENDED);
    int at = 0;
    while (at < records.length) {
      int space = at;
      while (space < records.length && records[space] != ' ') {
        space++;
      }
      long length = decimal(new String(records, at, space - at, StandardCharsets.ISO_8859_1));
      long end = at + length;
      if (length < 1
          || end > records.length
          || end - 1 <= space
          || records[(int) end - 1] != '\n') {
        throw refusal.because("an extended header is broken");
      }
      int equals = space + 1;
      while (equals < end && records[equals] != '=') {
        equals++;
      }
      if (equals >= end) {
        throw refusal.because("an extended header is broken");
      }
      String key = new String(records, space + 1, equals - space - 1, StandardCharsets.UTF_8);
      // Values of other keys (capabilities, times) may be any bytes; we use none of them.
      if (key.equals("path") || key.equals("linkpath") || key.equals("size")) {
        into.put(key, decode(records, equals + 1, (int) end - 1 - equals - 1));
      } else if (key.startsWith("GNU.sparse")) {
        into.put(key, "");
      }
      at = (int) end;
    }
  }

  private byte[] content(long size, int max) throws IOException {
    if (size > max) {
      throw refusal.because("a header of " + size + " bytes in it");
    }
    begin(size);
    byte[] bytes = in.readNBytes((int) left);
    if (bytes.length < left) {
      throw new EOFException("the archive ends within a header");
    }
    left = 0;
    return bytes;
  }

  private void begin(long size) {
    left = size;
    padding = (int) (-size & (BLOCK - 1));
  }

  private void skipRest() throws IOException {
    in.skipNBytes(left + padding);
    left = 0;
    padding = 0;
  }

  private boolean readBlock() throws IOException {
    int count = in.readNBytes(block, 0, BLOCK);
    if (count == 0) {
      return false;
    }
    if (count < BLOCK) {
      throw new EOFException("the archive ends within a header");
    }
    long sum = 0;
    boolean empty = true;
    for (int i = 0; i < BLOCK; i++) {
      boolean field = i >= CHECKSUM && i < CHECKSUM + 8;
      sum += field ? ' ' : block[i] & 0xff;
      empty &= block[i] == 0;
    }
    if (empty) {
      return false;
    }
    if (sum != number(CHECKSUM, 8)) {
      throw refusal.because("not a tar, or a broken one (a header's checksum is wrong)");
    }
    return true;
  }

  /** Octal digits, or with the first bit set a large binary number. */
  private long number(int offset, int length) {
    if ((block[offset] & 0x80) != 0) {
      long value = block[offset] & 0x7f;
      for (int i = 1; i < length; i++) {
        if (value >>> 54 != 0) {
          throw refusal.because("a number in a header is too large");
        }
        value = (value << 8) | (block[offset + i] & 0xff);
      }
      return value;
    }
    String digits = text(offset, length).strip();
    long value = 0;
    for (int i = 0; i < digits.length(); i++) {
      int digit = digits.charAt(i) - '0';
      if (digit < 0 || digit > 7) {
        throw refusal.because("not a tar, or a broken one (a number in a header is none)");
      }
      value = (value << 3) | digit;
    }
    return value;
  }

  /** A binary number below zero, as GNU writes times before 1970; too low ones become the least. */
  private long negative(int offset, int length) {
    long value = -1;
    for (int i = 1; i < length; i++) {
      if (value >> 54 != -1) {
        return Long.MIN_VALUE;
      }
      value = (value << 8) | (block[offset + i] & 0xff);
    }
    return value;
  }

  private long decimal(String text) {
    try {
      long value = Long.parseLong(text);
      if (value >= 0) {
        return value;
      }
    } catch (NumberFormatException e) {
      // Told below.
    }
    throw refusal.because("a number in an extended header is not one");
  }

  private String text(int offset, int length) {
    int end = offset;
    while (end < offset + length && block[end] != 0) {
      end++;
    }
    return decode(block, offset, end - offset);
  }

  private String name(byte[] bytes) {
    int end = bytes.length;
    while (end > 0 && bytes[end - 1] == 0) {
      end--;
    }
    return decode(bytes, 0, end);
  }

  private String decode(byte[] bytes, int offset, int length) {
    try {
      return StandardCharsets.UTF_8
          .newDecoder()
          .decode(ByteBuffer.wrap(bytes, offset, length))
          .toString();
    } catch (CharacterCodingException e) {
      throw refusal.because("a name in it is not UTF-8");
    }
  }
}
