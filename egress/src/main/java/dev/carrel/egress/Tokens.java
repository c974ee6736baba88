package dev.carrel.egress;

import com.nimbusds.jose.JOSEException;
import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.JWSHeader;
import com.nimbusds.jose.crypto.MACSigner;
import com.nimbusds.jose.crypto.MACVerifier;
import com.nimbusds.jwt.JWTClaimsSet;
import com.nimbusds.jwt.SignedJWT;
import java.text.ParseException;
import java.time.Instant;
import java.util.Arrays;
import java.util.Date;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What a sandbox is known by where the proxy is reached over TCP, and so by anybody: JSON web
 * tokens signed with HS256 and with nothing else. Safe for many threads.
 */
public final class Tokens {
  private static final String ISSUER = "sandbox-egress-control";
  private static final String SANDBOX = "session_id";
  private static final String TENANT = "tenant_id";
  private static final String HOSTS = "allowed_hosts";
  private static final String MACHINE = "machine";
  private static final int MAX_CHARS = 8192;

  private final byte[] key;

  /**
   * @param key at least 32 bytes
   */
  public Tokens(byte[] key) {
    this.key = key.clone();
    verifier();
  }

  /**
   * Whom a token stands for.
   *
   * @param machine which of a sandbox's machines, one after the other
   * @param hosts all that may be reached with it, within the sandbox's policy; null: what that
   *     allows
   */
  public record Bearer(
      String sandbox, String tenant, String machine, @Nullable List<HostPattern> hosts) {
    public Bearer {
      hosts = hosts == null ? null : List.copyOf(hosts);
    }

    /** Throws when the token is not for this host. */
    void require(Target target) throws RefusedException {
      if (hosts != null
          && hosts.stream()
              .noneMatch(
                  hosts ->
                      hosts.matches(target.host())
                          && (hosts.port() == 0 || hosts.port() == target.port()))) {
        throw new RefusedException(
            Reason.NOT_ALLOWED, HOSTS + " of the token", "the token is not for " + target);
      }
    }
  }

  public String issue(Bearer bearer, Instant expires) {
    var claims =
        new JWTClaimsSet.Builder()
            .issuer(ISSUER)
            .claim(SANDBOX, bearer.sandbox())
            .claim(TENANT, bearer.tenant())
            .claim(MACHINE, bearer.machine())
            .issueTime(Date.from(Instant.now()))
            .expirationTime(Date.from(expires));
    if (bearer.hosts() != null) {
      claims.claim(HOSTS, String.join(",", bearer.hosts().stream().map(Object::toString).toList()));
    }
    var token = new SignedJWT(new JWSHeader(JWSAlgorithm.HS256), claims.build());
    try {
      token.sign(new MACSigner(key));
      return token.serialize();
    } catch (JOSEException e) {
      throw new IllegalStateException("every JDK has HMAC-SHA-256", e);
    }
  }

  /** Whom it stands for; whether that one is there is for others to know. */
  Bearer read(String text) throws RefusedException {
    if (text.length() > MAX_CHARS) {
      throw refused("is too long");
    }
    try {
      SignedJWT token = SignedJWT.parse(text);
      if (!JWSAlgorithm.HS256.equals(token.getHeader().getAlgorithm())
          || !token.verify(verifier())) {
        throw refused("is not signed by this server");
      }
      return bearer(token.getJWTClaimsSet());
    } catch (ParseException | IllegalArgumentException e) {
      throw refused("cannot be read");
    } catch (JOSEException e) {
      throw refused("cannot be verified");
    }
  }

  private static Bearer bearer(JWTClaimsSet claims) throws ParseException, RefusedException {
    Instant now = Instant.now();
    Date expires = claims.getExpirationTime();
    Date begins = claims.getNotBeforeTime();
    if (!ISSUER.equals(claims.getIssuer())) {
      throw refused("was issued for something else");
    }
    if (expires == null || !now.isBefore(expires.toInstant())) {
      throw refused("has expired");
    }
    if (begins != null && now.isBefore(begins.toInstant())) {
      throw refused("is not valid yet");
    }
    return new Bearer(
        word(claims, SANDBOX), word(claims, TENANT), word(claims, MACHINE), hosts(claims));
  }

  private static String word(JWTClaimsSet claims, String name)
      throws ParseException, RefusedException {
    String value = claims.getStringClaim(name);
    if (value == null || value.isEmpty()) {
      throw refused("has no " + name);
    }
    return value;
  }

  /** A list, or words with commas between them. */
  private static @Nullable List<HostPattern> hosts(JWTClaimsSet claims) throws ParseException {
    Object claim = claims.getClaim(HOSTS);
    if (claim == null) {
      return null;
    }
    List<String> words =
        claim instanceof String text
            ? Arrays.asList(text.split(",", -1))
            : Objects.requireNonNullElse(claims.getStringListClaim(HOSTS), List.of());
    return words.stream()
        .map(String::strip)
        .filter(word -> !word.isEmpty())
        .map(HostPattern::parse)
        .toList();
  }

  private MACVerifier verifier() {
    try {
      return new MACVerifier(key);
    } catch (JOSEException e) {
      throw new IllegalArgumentException("a key for tokens has at least 32 bytes", e);
    }
  }

  static RefusedException refused(String why) {
    return new RefusedException(Reason.TOKEN, "the token " + why);
  }
}
