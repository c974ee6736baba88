package dev.carrel.spi;

import java.security.SecureRandom;

/**
 * Makes and checks the ids of this package: a two-letter prefix and 14 characters that fit a DNS
 * label.
 */
final class Ids {
  private static final String ALPHABET = "abcdefghijklmnopqrstuvwxyz234567";
  private static final int RANDOM_LENGTH = 14;
  private static final SecureRandom RANDOM = new SecureRandom();

  private Ids() {}

  static String random(String prefix) {
    var id = new StringBuilder(prefix.length() + RANDOM_LENGTH).append(prefix);
    for (int i = 0; i < RANDOM_LENGTH; i++) {
      id.append(ALPHABET.charAt(RANDOM.nextInt(ALPHABET.length())));
    }
    return id.toString();
  }

  static void check(String prefix, String value, ErrorCode code) {
    boolean valid =
        value.length() == prefix.length() + RANDOM_LENGTH
            && value.startsWith(prefix)
            && value.chars().allMatch(c -> ALPHABET.indexOf(c) >= 0);
    if (!valid) {
      throw new SandboxException(code, "no such id: " + Text.printable(value, 64));
    }
  }
}
