package dev.carrel.image;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.zip.GZIPOutputStream;

/** A tar as a test wants it, also one that no honest tool writes. */
final class TarBytes {
  private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
  private final TarWriter tar = new TarWriter(bytes);

  TarBytes file(String name, String content) throws IOException {
    return file(name, content, 0644);
  }

  TarBytes file(String name, String content, int mode) throws IOException {
    byte[] raw = content.getBytes(StandardCharsets.UTF_8);
    tar.file(name, mode, raw.length, 1_000_000_000, new ByteArrayInputStream(raw));
    return this;
  }

  TarBytes folder(String name) throws IOException {
    tar.directory(name, 0755, 0);
    return this;
  }

  TarBytes symlink(String name, String target) throws IOException {
    tar.symlink(name, target, 0);
    return this;
  }

  TarBytes hardlink(String name, String target) throws IOException {
    tar.hardlink(name, target, 0644, 0);
    return this;
  }

  TarBytes entry(char type, String name) throws IOException {
    tar.header(type, name, "", 0666, 0, 0);
    return this;
  }

  byte[] bytes() throws IOException {
    tar.finish();
    return bytes.toByteArray();
  }

  /** The same with the time of its first entry as GNU writes one that octal digits cannot say. */
  byte[] bytesWithTime(long seconds) throws IOException {
    byte[] changed = bytes();
    byte[] time = BigInteger.valueOf(seconds).toByteArray();
    Arrays.fill(changed, 136, 148, (byte) (seconds < 0 ? 0xff : 0));
    System.arraycopy(time, 0, changed, 148 - time.length, time.length);
    changed[136] |= (byte) 0x80;
    Arrays.fill(changed, 148, 156, (byte) ' ');
    int sum = 0;
    for (int i = 0; i < 512; i++) {
      sum += changed[i] & 0xff;
    }
    byte[] digits = "%06o\0".formatted(sum).getBytes(StandardCharsets.US_ASCII);
    System.arraycopy(digits, 0, changed, 148, digits.length);
    return changed;
  }

  InputStream stream() throws IOException {
    return new ByteArrayInputStream(bytes());
  }

  static byte[] gzip(byte[] plain) throws IOException {
    var out = new ByteArrayOutputStream();
    try (var zip = new GZIPOutputStream(out)) {
      zip.write(plain);
    }
    return out.toByteArray();
  }
}
