package dev.carrel.image;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;

/** Writes a tar that everybody can read: POSIX, everything owned by root. For one thread. */
public final class TarWriter {
  private static final int BLOCK = 512;
  private static final int MAX_NAME = 100;
  private static final long MAX_SIZE = 0777_7777_7777L;

  private final OutputStream out;

  public TarWriter(OutputStream out) {
    this.out = out;
  }

  public void directory(String name, int mode, long modified) throws IOException {
    header('5', name + "/", "", mode, 0, modified);
  }

  void symlink(String name, String target, long modified) throws IOException {
    header('2', name, target, 0777, 0, modified);
  }

  void hardlink(String name, String target, int mode, long modified) throws IOException {
    header('1', name, target, mode, 0, modified);
  }

  void file(String name, byte[] content) throws IOException {
    header('0', name, "", 0644, content.length, 0);
    out.write(content);
    pad(content.length);
  }

  /** Throws when the content is not as long as was said. */
  public void file(String name, int mode, long size, long modified, InputStream content)
      throws IOException {
    header('0', name, "", mode, size, modified);
    byte[] buffer = new byte[64 * 1024];
    long left = size;
    while (left > 0) {
      int count = content.read(buffer, 0, (int) Math.min(buffer.length, left));
      if (count < 0) {
        throw new IOException(name + " became shorter while it was read");
      }
      out.write(buffer, 0, count);
      left -= count;
    }
    pad(size);
  }

  /** The end of the archive; the stream stays open. */
  public void finish() throws IOException {
    out.write(new byte[2 * BLOCK]);
    out.flush();
  }

  /** Any kind of entry without content. */
  void header(char type, String name, String link, int mode, long size, long modified)
      throws IOException {
    var extended = new StringBuilder();
    if (length(name) > MAX_NAME) {
      record(extended, "path", name);
    }
    if (length(link) > MAX_NAME) {
      record(extended, "linkpath", link);
    }
    if (size > MAX_SIZE) {
      record(extended, "size", Long.toString(size));
    }
    if (!extended.isEmpty()) {
      byte[] records = extended.toString().getBytes(StandardCharsets.UTF_8);
      block('x', "PaxHeaders/entry", "", 0644, records.length, 0);
      out.write(records);
      pad(records.length);
    }
    block(type, name, link, mode, Math.min(size, MAX_SIZE), modified);
  }

  private void block(char type, String name, String link, int mode, long size, long modified)
      throws IOException {
    byte[] block = new byte[BLOCK];
    put(block, 0, MAX_NAME, name);
    octal(block, 100, 8, mode);
    octal(block, 108, 8, 0);
    octal(block, 116, 8, 0);
    octal(block, 124, 12, size);
    octal(block, 136, 12, Math.clamp(modified, 0, MAX_SIZE));
    put(block, 148, 8, "        ");
    block[156] = (byte) type;
    put(block, 157, MAX_NAME, link);
    put(block, 257, 8, "ustar\00000");
    long sum = 0;
    for (byte b : block) {
      sum += b & 0xff;
    }
    octal(block, 148, 7, sum);
    out.write(block);
  }

  /** Its own length counts too. */
  private static void record(StringBuilder records, String key, String value) {
    int bare = length(key) + length(value) + 3;
    int length = bare + Integer.toString(bare).length();
    length = bare + Integer.toString(length).length();
    records.append(length).append(' ').append(key).append('=').append(value).append('\n');
  }

  private void pad(long size) throws IOException {
    out.write(new byte[(int) (-size & (BLOCK - 1))]);
  }

  private static void put(byte[] block, int offset, int max, String text) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    System.arraycopy(bytes, 0, block, offset, Math.min(bytes.length, max));
  }

  private static void octal(byte[] block, int offset, int length, long value) {
    String digits = Long.toOctalString(value);
    put(block, offset, length, "0".repeat(length - 1 - digits.length()) + digits);
  }

  private static int length(String text) {
    return text.getBytes(StandardCharsets.UTF_8).length;
  }
}
