package dev.carrel.image;

import dev.carrel.spi.Text;
import java.io.IOException;
import java.io.InputStream;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.regex.Pattern;

/** The SHA-256 of something, which is also its name. */
public record Digest(String hex) {
  private static final Pattern HEX = Pattern.compile("[0-9a-f]{64}");
  private static final String PREFIX = "sha256:";
  private static final int BUFFER = 64 * 1024;

  public Digest {
    if (!HEX.matcher(hex).matches()) {
      throw BadImage.because("'" + Text.printable(hex, 80) + "' is not a digest");
    }
  }

  /** Reads {@code sha256:…}; other algorithms are refused, since nobody here could check them. */
  public static Digest parse(String text) {
    if (!text.startsWith(PREFIX)) {
      throw BadImage.because(
          "'" + Text.printable(text, 80) + "' is not a digest of the kind sha256:…");
    }
    return new Digest(text.substring(PREFIX.length()));
  }

  /** Of a text that is too long or too strange to be a file's name. */
  public static Digest named(byte[] bytes) {
    return of(bytes);
  }

  static Digest of(byte[] bytes) {
    return of(sha256(), bytes);
  }

  static Digest of(MessageDigest algorithm, byte... last) {
    return new Digest(HexFormat.of().formatHex(algorithm.digest(last)));
  }

  /** Of everything that is left. */
  static Digest of(InputStream in) throws IOException {
    MessageDigest algorithm = sha256();
    byte[] buffer = new byte[BUFFER];
    for (int count = in.read(buffer); count >= 0; count = in.read(buffer)) {
      algorithm.update(buffer, 0, count);
    }
    return of(algorithm);
  }

  static MessageDigest sha256() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every JDK has SHA-256", e);
    }
  }

  @Override
  public String toString() {
    return PREFIX + hex;
  }
}
