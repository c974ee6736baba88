package dev.carrel.control.audit;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import org.jspecify.annotations.Nullable;

/** A row of the chain as it is stored, which is what its hash covers. */
@SuppressWarnings("ArrayRecordComponent") // read once, compared by its parts
record StoredRecord(
    long sequence,
    long atMicros,
    String tenant,
    String namespace,
    @Nullable String sandbox,
    String action,
    String body,
    byte[] hash) {
  private static final byte[] FORMAT = "carrel audit 1".getBytes(StandardCharsets.US_ASCII);
  private static final int ABSENT = -1;

  StoredRecord withSequence(long newSequence) {
    return new StoredRecord(newSequence, atMicros, tenant, namespace, sandbox, action, body, hash);
  }

  StoredRecord withHash(byte[] newHash) {
    return new StoredRecord(sequence, atMicros, tenant, namespace, sandbox, action, body, newHash);
  }

  /** What its hash must be after {@code before}: every part with its length, so none can move. */
  byte[] hashAfter(byte[] before, MessageDigest sha256) {
    sha256.reset();
    sha256.update(FORMAT);
    sha256.update(before);
    sha256.update(ByteBuffer.allocate(2 * Long.BYTES).putLong(sequence).putLong(atMicros).flip());
    add(sha256, tenant);
    add(sha256, namespace);
    add(sha256, sandbox);
    add(sha256, action);
    add(sha256, body);
    return sha256.digest();
  }

  private static void add(MessageDigest sha256, @Nullable String part) {
    byte[] bytes = part == null ? new byte[0] : part.getBytes(StandardCharsets.UTF_8);
    int length = part == null ? ABSENT : bytes.length;
    sha256.update(ByteBuffer.allocate(Integer.BYTES).putInt(length).flip());
    sha256.update(bytes);
  }
}
