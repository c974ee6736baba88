package dev.carrel.bench;

import dev.carrel.control.redact.Protected;
import dev.carrel.control.redact.RedactedStream;
import dev.carrel.control.redact.Redaction;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/** How quickly output passes the redactor, on one core, in pieces as a guest sends them. */
final class RedactorBench {
  private static final int PIECE = 64 * 1024;
  private static final int PIECES = 64;
  private static final int ROUNDS = 60;
  private static final double GOAL = 500;
  private static final String LETTERS = " etaoinshrdlucmfwypvbgkjqxz\n0123456789.-:/=ETAOIN";

  private RedactorBench() {}

  static void measure(Report report) {
    for (int secrets : new int[] {1, 10}) {
      report.add(
          Row.rate(
              "redaction of output, %d secrets".formatted(secrets), speed(secrets), "MB/s", GOAL));
    }
  }

  private static double speed(int secrets) {
    var random = new SplittableRandom(secrets);
    var redaction = new Redaction(_ -> {});
    List<Protected> values = new ArrayList<>();
    for (int i = 0; i < secrets; i++) {
      values.add(new Protected("S" + i, text(random, 8 + random.nextInt(40)), false));
    }
    redaction.protect(values);
    byte[] output = text(random, PIECE * PIECES).getBytes(StandardCharsets.US_ASCII);
    RedactedStream stream = redaction.stream();
    long best = Long.MAX_VALUE;
    long passed = 0;
    for (int round = 0; round < ROUNDS; round++) {
      long begin = System.nanoTime();
      for (int at = 0; at < output.length; at += PIECE) {
        passed += stream.next(ByteBuffer.wrap(output, at, PIECE)).remaining();
      }
      best = Math.min(best, System.nanoTime() - begin);
    }
    if (passed == 0) {
      throw new IllegalStateException("nothing passed");
    }
    return output.length * 1e3 / best;
  }

  private static String text(SplittableRandom random, int length) {
    var text = new StringBuilder(length);
    for (int i = 0; i < length; i++) {
      text.append(LETTERS.charAt(random.nextInt(LETTERS.length())));
    }
    return text.toString();
  }
}
