package dev.carrel.server.auth;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Duration;
import java.time.Instant;
import java.util.Base64;
import java.util.Map;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * A secret with which clients make tokens themselves, a new one for each request: JSON web tokens,
 * signed with HMAC and nothing else. Safe for many threads.
 */
final class JwtSecret {
  static final int MIN_LENGTH = 32;

  /** Longer ones are for the token file itself, where they can be taken back. */
  private static final Duration MOST = Duration.ofHours(1);

  private static final Duration CLOCKS = Duration.ofSeconds(60);
  private static final int MAX_CHARS = 4096;
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Map<String, String> ALGORITHMS =
      Map.of("HS256", "HmacSHA256", "HS384", "HmacSHA384", "HS512", "HmacSHA512");

  private final byte[] key;

  JwtSecret(String secret) {
    key = secret.getBytes(StandardCharsets.UTF_8);
  }

  /** Whether it was made with this secret and is good now. */
  boolean made(String token, Instant now) {
    int signature = token.lastIndexOf('.');
    int claims = token.indexOf('.');
    if (token.length() > MAX_CHARS || claims <= 0 || signature <= claims + 1) {
      return false;
    }
    try {
      String algorithm = ALGORITHMS.get(json(token.substring(0, claims)).path("alg").asText());
      return algorithm != null
          && MessageDigest.isEqual(
              mac(algorithm, token.substring(0, signature)),
              Base64.getUrlDecoder().decode(token.substring(signature + 1)))
          && isGood(json(token.substring(claims + 1, signature)), now);
    } catch (IOException | IllegalArgumentException e) {
      return false;
    }
  }

  private static JsonNode json(String part) throws IOException {
    return JSON.readTree(Base64.getUrlDecoder().decode(part));
  }

  private byte[] mac(String algorithm, String text) {
    try {
      Mac mac = Mac.getInstance(algorithm);
      mac.init(new SecretKeySpec(key, algorithm));
      return mac.doFinal(text.getBytes(StandardCharsets.UTF_8));
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("every JDK has " + algorithm, e);
    }
  }

  private static boolean isGood(JsonNode claims, Instant now) {
    long second = now.getEpochSecond();
    JsonNode ends = claims.path("exp");
    JsonNode begins = claims.path("nbf");
    return ends.isNumber()
        && ends.asLong() > second
        && ends.asLong() <= second + MOST.plus(CLOCKS).toSeconds()
        && (begins.isMissingNode()
            || (begins.isNumber() && begins.asLong() <= second + CLOCKS.toSeconds()));
  }
}
