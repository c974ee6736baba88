package dev.carrel.control.audit;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/** A record in the journal: its length, a checksum, its number, its time, and its five texts. */
final class JournalFrame {
  private static final int HEAD = 2 * Integer.BYTES;
  private static final int FIXED = 2 * Long.BYTES;
  private static final int TEXTS = 5;
  private static final int ABSENT = -1;

  private JournalFrame() {}

  static byte[] of(long number, StoredRecord row) {
    List<byte @Nullable []> texts =
        Arrays.asList(
            bytes(row.tenant()),
            bytes(row.namespace()),
            bytes(row.sandbox()),
            bytes(row.action()),
            bytes(row.body()));
    int size = FIXED;
    for (byte @Nullable [] text : texts) {
      size += Integer.BYTES + (text == null ? 0 : text.length);
    }
    byte[] frame = new byte[HEAD + size];
    ByteBuffer content = ByteBuffer.wrap(frame).position(HEAD);
    content.putLong(number).putLong(row.atMicros());
    for (byte @Nullable [] text : texts) {
      content.putInt(text == null ? ABSENT : text.length);
      if (text != null) {
        content.put(text);
      }
    }
    content.putInt(0, size).putInt(Integer.BYTES, checksum(frame));
    return frame;
  }

  /** The next one, or null when there is none that is whole; then the position stays. */
  static Journal.@Nullable Noted next(ByteBuffer bytes) {
    if (bytes.remaining() < HEAD) {
      return null;
    }
    int size = bytes.getInt(bytes.position());
    if (size < FIXED + TEXTS * Integer.BYTES || size > bytes.remaining() - HEAD) {
      return null;
    }
    byte[] frame = new byte[HEAD + size];
    bytes.get(bytes.position(), frame);
    ByteBuffer content = ByteBuffer.wrap(frame);
    if (content.getInt(Integer.BYTES) != checksum(frame)) {
      return null;
    }
    bytes.position(bytes.position() + frame.length);
    content.position(HEAD);
    long number = content.getLong();
    long at = content.getLong();
    var row =
        new StoredRecord(
            0,
            at,
            required(content),
            required(content),
            text(content),
            required(content),
            required(content),
            new byte[0]);
    return new Journal.Noted(number, row, frame);
  }

  private static int checksum(byte[] frame) {
    var sum = new CRC32C();
    sum.update(frame, HEAD, frame.length - HEAD);
    return (int) sum.getValue();
  }

  private static byte @Nullable [] bytes(@Nullable String text) {
    return text == null ? null : text.getBytes(StandardCharsets.UTF_8);
  }

  private static String required(ByteBuffer content) {
    String text = text(content);
    return text == null ? "" : text;
  }

  private static @Nullable String text(ByteBuffer content) {
    int length = content.getInt();
    if (length == ABSENT) {
      return null;
    }
    byte[] bytes = new byte[length];
    content.get(bytes);
    return new String(bytes, StandardCharsets.UTF_8);
  }
}
