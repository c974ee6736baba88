package dev.carrel.server.e2b;

import dev.carrel.control.access.AccessTokens;
import dev.carrel.server.http.Exchange;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Instant;
import java.util.Base64;
import java.util.Optional;

/** Links to one file, signed with its sandbox's token. */
final class Signatures {
  private final AccessTokens tokens;

  Signatures(AccessTokens tokens) {
    this.tokens = tokens;
  }

  /** What may be done with a file. */
  enum Operation {
    READ("read"),
    WRITE("write");

    private final String word;

    Operation(String word) {
      this.word = word;
    }
  }

  /** Throws unless the link was signed for this sandbox and is still good. */
  void check(Exchange exchange, SandboxId sandbox, Operation operation) {
    if (!matches(exchange, sandbox, operation)) {
      throw refused("invalid signature");
    }
    checkTime(exchange);
  }

  /**
   * The sandbox that a link without its name was signed for: tokens differ, so at most one fits.
   */
  SandboxId find(Exchange exchange, Operation operation) {
    SandboxId found =
        tokens
            .live()
            .filter(sandbox -> matches(exchange, sandbox, operation))
            .findFirst()
            .orElseThrow(() -> refused("invalid signature"));
    checkTime(exchange);
    return found;
  }

  static String sign(
      String path, Operation operation, String user, String token, Optional<String> expiration) {
    String text =
        String.join(":", path, operation.word, user, token)
            + expiration.map(end -> ":" + end).orElse("");
    try {
      byte[] digest =
          MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
      return "v1_" + Base64.getEncoder().withoutPadding().encodeToString(digest);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every JDK has SHA-256", e);
    }
  }

  private boolean matches(Exchange exchange, SandboxId sandbox, Operation operation) {
    String offered =
        exchange
            .query()
            .text("signature")
            .orElseThrow(() -> refused("missing signature query parameter"));
    String expected =
        sign(
            exchange.query().text("path").orElse(""),
            operation,
            exchange.query().text("username").orElse(""),
            tokens.of(sandbox),
            exchange.query().text("signature_expiration"));
    return MessageDigest.isEqual(
        expected.getBytes(StandardCharsets.US_ASCII), offered.getBytes(StandardCharsets.UTF_8));
  }

  private static void checkTime(Exchange exchange) {
    long end = exchange.query().number("signature_expiration", Long.MAX_VALUE, 0, Long.MAX_VALUE);
    if (Instant.now().getEpochSecond() > end) {
      throw refused("signature is already expired");
    }
  }

  private static SandboxException refused(String why) {
    return new SandboxException(ErrorCode.UNAUTHENTICATED, why);
  }
}
