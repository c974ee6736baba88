package dev.carrel.server.mcp;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.Base64;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * State that a client carries for us between two requests, so that no other client and no change of
 * it is believed. The key lives as long as the server: what it signed before a restart has to be
 * asked for again.
 */
final class SignedState {
  private static final String ALGORITHM = "HmacSHA256";
  private static final int MAX_LENGTH = 4096;

  private final SecretKeySpec key;

  SignedState() {
    byte[] secret = new byte[32];
    new SecureRandom().nextBytes(secret);
    key = new SecretKeySpec(secret, ALGORITHM);
  }

  /**
   * @param owner whom and what it is for: the same must be said to read it
   */
  String sign(String owner, String state) {
    Base64.Encoder base64 = Base64.getUrlEncoder().withoutPadding();
    return base64.encodeToString(state.getBytes(StandardCharsets.UTF_8))
        + "."
        + base64.encodeToString(mac(owner, state));
  }

  String read(String owner, String signed) {
    int dot = signed.indexOf('.');
    try {
      if (dot > 0 && signed.length() <= MAX_LENGTH) {
        Base64.Decoder base64 = Base64.getUrlDecoder();
        String state = new String(base64.decode(signed.substring(0, dot)), StandardCharsets.UTF_8);
        if (MessageDigest.isEqual(base64.decode(signed.substring(dot + 1)), mac(owner, state))) {
          return state;
        }
      }
    } catch (IllegalArgumentException notBase64) {
      // Told below, like every other state that is not ours.
    }
    throw RpcError.invalidParams("requestState is not what this server gave for this request");
  }

  private byte[] mac(String owner, String state) {
    try {
      Mac mac = Mac.getInstance(ALGORITHM);
      mac.init(key);
      mac.update(owner.getBytes(StandardCharsets.UTF_8));
      mac.update((byte) 0);
      return mac.doFinal(state.getBytes(StandardCharsets.UTF_8));
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("every Java has " + ALGORITHM, e);
    }
  }
}
