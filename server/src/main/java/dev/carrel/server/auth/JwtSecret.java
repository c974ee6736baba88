package dev.carrel.server.auth;

import com.nimbusds.jose.JOSEException;
import com.nimbusds.jose.crypto.MACVerifier;
import com.nimbusds.jwt.JWTClaimsSet;
import com.nimbusds.jwt.SignedJWT;
import java.text.ParseException;
import java.time.Duration;
import java.time.Instant;
import java.util.Date;

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

  private final MACVerifier verifier;

  JwtSecret(String secret) {
    try {
      verifier = new MACVerifier(secret);
    } catch (JOSEException e) {
      throw new IllegalArgumentException("a secret has at least " + MIN_LENGTH + " bytes", e);
    }
  }

  /** Whether it was made with this secret and is good now. */
  boolean made(String token, Instant now) {
    if (token.length() > MAX_CHARS || token.indexOf('.') < 0) {
      return false;
    }
    try {
      SignedJWT signed = SignedJWT.parse(token);
      // The token says how it is signed: the verifier knows nothing but HMAC.
      return verifier.supportedJWSAlgorithms().contains(signed.getHeader().getAlgorithm())
          && signed.verify(verifier)
          && isGood(signed.getJWTClaimsSet(), now);
    } catch (ParseException | JOSEException | IllegalArgumentException e) {
      return false;
    }
  }

  private static boolean isGood(JWTClaimsSet claims, Instant now) {
    Date ends = claims.getExpirationTime();
    Date begins = claims.getNotBeforeTime();
    return ends != null
        && ends.toInstant().isAfter(now)
        && !ends.toInstant().isAfter(now.plus(MOST).plus(CLOCKS))
        && (begins == null || !begins.toInstant().isAfter(now.plus(CLOCKS)));
  }
}
