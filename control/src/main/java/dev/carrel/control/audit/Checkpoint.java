package dev.carrel.control.audit;

import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.Locale;

/** A signed word about the chain. */
@SuppressWarnings("ArrayRecordComponent") // compared by its parts
record Checkpoint(Kind kind, long sequence, long atMicros, byte[] hash, byte[] signature) {

  static Checkpoint sign(Kind kind, Head head, long atMicros, SigningKey key) {
    return new Checkpoint(
        kind,
        head.sequence(),
        atMicros,
        head.hash(),
        key.sign(message(kind, head.sequence(), atMicros, head.hash())));
  }

  boolean genuine(SigningKey key) {
    return key.verify(message(kind, sequence, atMicros, hash), signature);
  }

  private static byte[] message(Kind kind, long sequence, long atMicros, byte[] hash) {
    return "carrel audit checkpoint 1\n%s\n%d\n%d\n%s\n"
        .formatted(kind.wireName(), sequence, atMicros, HexFormat.of().formatHex(hash))
        .getBytes(StandardCharsets.US_ASCII);
  }

  /** What it says. */
  enum Kind {
    /** The chain had this record as its last. */
    HEAD,
    /** The records up to this one were removed because they were old, or too many. */
    PRUNED;

    String wireName() {
      return name().toLowerCase(Locale.ROOT);
    }
  }
}
