package dev.carrel.control.packages;

import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What an index says a file is: {@code sha256-} or {@code sha512-} and hexadecimal digits. Whatever
 * is weaker is none.
 */
record FileDigest(String algorithm, String hex) {
  private static final Pattern GRAMMAR =
      Pattern.compile("sha(256)-([0-9a-f]{64})|sha(512)-([0-9a-f]{128})");

  static Optional<FileDigest> parse(String text) {
    Matcher matcher = GRAMMAR.matcher(text);
    if (!matcher.matches()) {
      return Optional.empty();
    }
    return matcher.group(1) != null
        ? Optional.of(new FileDigest("SHA-256", matcher.group(2)))
        : Optional.of(new FileDigest("SHA-512", matcher.group(4)));
  }

  MessageDigest begin() {
    try {
      return MessageDigest.getInstance(algorithm);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every JDK has " + algorithm, e);
    }
  }

  boolean is(MessageDigest finished) {
    return MessageDigest.isEqual(HexFormat.of().parseHex(hex), finished.digest());
  }

  @Override
  public String toString() {
    return algorithm.replace("SHA-", "sha") + "-" + hex;
  }
}
