package dev.carrel.control.skill;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;

/** Skills as people pack them, and as nobody should. */
final class Packed {
  private Packed() {}

  static String main(String name, String description) {
    return "---\nname: " + name + "\ndescription: " + description + "\n---\n\n# " + name + "\n";
  }

  /**
   * @param namesAndContents a name, its content, the next name, …
   */
  static byte[] zip(String... namesAndContents) {
    var bytes = new ByteArrayOutputStream();
    try (var zip = new ZipOutputStream(bytes)) {
      for (int i = 0; i < namesAndContents.length; i += 2) {
        zip.putNextEntry(new ZipEntry(namesAndContents[i]));
        zip.write(namesAndContents[i + 1].getBytes(StandardCharsets.UTF_8));
        zip.closeEntry();
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return bytes.toByteArray();
  }

  /** With the kind of its last entry changed in the directory, as of a file made on Unix. */
  static byte[] withLastEntry(byte[] zip, int mode) {
    byte[] changed = zip.clone();
    int at = lastDirectoryEntry(changed);
    changed[at + 5] = 3;
    changed[at + 40] = (byte) mode;
    changed[at + 41] = (byte) (mode >> 8);
    return write(changed, at + 38, mode << 16);
  }

  private static byte[] write(byte[] bytes, int at, int value) {
    for (int i = 0; i < Integer.BYTES; i++) {
      bytes[at + i] = (byte) (value >> (i * Byte.SIZE));
    }
    return bytes;
  }

  private static int lastDirectoryEntry(byte[] zip) {
    for (int at = zip.length - 46; at >= 0; at--) {
      if (zip[at] == 'P' && zip[at + 1] == 'K' && zip[at + 2] == 1 && zip[at + 3] == 2) {
        return at;
      }
    }
    throw new IllegalArgumentException("no directory");
  }
}
