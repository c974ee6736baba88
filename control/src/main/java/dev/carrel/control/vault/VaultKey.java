package dev.carrel.control.vault;

import dev.carrel.control.store.KeyFile;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.SecureRandom;
import javax.crypto.Cipher;
import javax.crypto.Mac;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.SecretKeySpec;
import org.jspecify.annotations.Nullable;

/**
 * The vault's key and what is done with it. A sealed value can only be opened as what it was sealed
 * as: its row's identity and version are bound to it. Safe for many threads.
 */
final class VaultKey {
  private static final int NONCE_BYTES = 12;
  private static final int TAG_BITS = 128;

  private final SecretKeySpec values;
  private final SecretKeySpec marks;
  private final SecureRandom random = new SecureRandom();

  private VaultKey(byte[] master) {
    // One key for each purpose, so that no use of one tells anything about another.
    values = new SecretKeySpec(hmac(new SecretKeySpec(master, "HmacSHA256"), "values"), "AES");
    marks = new SecretKeySpec(hmac(new SecretKeySpec(master, "HmacSHA256"), "marks"), "HmacSHA256");
  }

  /**
   * @param given Base64; null: from the file, which is made when there is none
   */
  static VaultKey open(@Nullable String given, Path file) {
    return new VaultKey(
        given == null ? KeyFile.open(file) : KeyFile.decoded(given, "the key given for the vault"));
  }

  byte[] seal(byte[] plain, byte[] identity) {
    byte[] nonce = new byte[NONCE_BYTES];
    random.nextBytes(nonce);
    try {
      Cipher cipher = cipher(Cipher.ENCRYPT_MODE, nonce, identity);
      byte[] sealed = cipher.doFinal(plain);
      return ByteBuffer.allocate(nonce.length + sealed.length).put(nonce).put(sealed).array();
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("every JDK has AES-GCM", e);
    }
  }

  /** Null when it was sealed as something else, with another key, or changed since. */
  byte @Nullable [] open(byte[] sealed, byte[] identity) {
    if (sealed.length < NONCE_BYTES + TAG_BITS / 8) {
      return null;
    }
    ByteBuffer parts = ByteBuffer.wrap(sealed);
    byte[] nonce = new byte[NONCE_BYTES];
    byte[] rest = new byte[sealed.length - NONCE_BYTES];
    parts.get(nonce).get(rest);
    try {
      return cipher(Cipher.DECRYPT_MODE, nonce, identity).doFinal(rest);
    } catch (GeneralSecurityException e) {
      return null;
    }
  }

  /** A keyed digest, which only who has the key can make. */
  byte[] mark(byte[] of) {
    return hmac(marks, of);
  }

  private Cipher cipher(int mode, byte[] nonce, byte[] identity) throws GeneralSecurityException {
    Cipher cipher = Cipher.getInstance("AES/GCM/NoPadding");
    cipher.init(mode, values, new GCMParameterSpec(TAG_BITS, nonce));
    cipher.updateAAD(identity);
    return cipher;
  }

  private static byte[] hmac(SecretKeySpec key, String purpose) {
    return hmac(key, ("carrel vault " + purpose).getBytes(StandardCharsets.US_ASCII));
  }

  private static byte[] hmac(SecretKeySpec key, byte[] of) {
    try {
      Mac mac = Mac.getInstance("HmacSHA256");
      mac.init(key);
      return mac.doFinal(of);
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("every JDK has HMAC-SHA-256", e);
    }
  }
}
