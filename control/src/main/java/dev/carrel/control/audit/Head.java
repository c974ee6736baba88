package dev.carrel.control.audit;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;

/** Where a chain ends. */
@SuppressWarnings("ArrayRecordComponent") // compared by its parts
record Head(long sequence, byte[] hash) {
  private static final byte[] GENESIS =
      "carrel audit genesis 1".getBytes(StandardCharsets.US_ASCII);

  /** Before the first record of a server. */
  static Head genesis(SigningKey key) {
    MessageDigest sha256 = RequestDigest.sha256();
    sha256.update(GENESIS);
    sha256.update(key.publicBytes());
    return new Head(0, sha256.digest());
  }
}
