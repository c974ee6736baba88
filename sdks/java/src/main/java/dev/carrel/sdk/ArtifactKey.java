package dev.carrel.sdk;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.MessageDigest;
import java.security.PublicKey;
import java.security.Signature;
import java.security.spec.X509EncodedKeySpec;
import java.util.Base64;
import java.util.HexFormat;
import java.util.Map;
import java.util.Optional;

/** A server's public key: checks what that server signed, without asking it. */
public final class ArtifactKey {
  private static final String ALGORITHM = "Ed25519";
  private static final int BUFFER = 64 * 1024;

  private final PublicKey key;

  private ArtifactKey(PublicKey key) {
    this.key = key;
  }

  /**
   * Reads a key.
   *
   * @param text X.509 as base64, with or without the two lines of PEM
   */
  public static ArtifactKey parse(String text) {
    String base64 =
        text.lines()
            .filter(line -> !line.startsWith("-----"))
            .map(String::strip)
            .reduce("", String::concat);
    try {
      return new ArtifactKey(
          KeyFactory.getInstance(ALGORITHM)
              .generatePublic(new X509EncodedKeySpec(Base64.getDecoder().decode(base64))));
    } catch (GeneralSecurityException | IllegalArgumentException e) {
      throw new IllegalArgumentException("not an Ed25519 public key: " + e.getMessage(), e);
    }
  }

  /**
   * Whether this key signed a file of these bytes.
   *
   * @param signature base64
   */
  public boolean signed(Digest digest, String signature) {
    byte[] statement =
        "carrel artifact 1\n%s\n%d\n"
            .formatted(digest.sha256(), digest.size())
            .getBytes(StandardCharsets.US_ASCII);
    return verify(statement, signature);
  }

  /** Digest by path; empty when this key did not sign the manifest. */
  public Optional<Map<String, String>> digests(ArtifactManifest manifest) throws IOException {
    if (!manifest.payloadType().equals(ArtifactManifest.TYPE)) {
      return Optional.empty();
    }
    byte[] signed;
    try {
      signed = manifest.signed();
    } catch (IllegalArgumentException e) {
      return Optional.empty();
    }
    boolean genuine =
        manifest.signatures().stream().anyMatch(signature -> verify(signed, signature.sig()));
    return genuine ? Optional.of(manifest.subjects()) : Optional.empty();
  }

  private boolean verify(byte[] message, String signature) {
    try {
      Signature ed25519 = Signature.getInstance(ALGORITHM);
      ed25519.initVerify(key);
      ed25519.update(message);
      return ed25519.verify(Base64.getDecoder().decode(signature));
    } catch (GeneralSecurityException | IllegalArgumentException malformed) {
      return false;
    }
  }

  /**
   * What a file is known by.
   *
   * @param sha256 in hex
   */
  public record Digest(String sha256, long size) {
    public static Digest of(Path file) throws IOException {
      MessageDigest sha256;
      try {
        sha256 = MessageDigest.getInstance("SHA-256");
      } catch (GeneralSecurityException e) {
        throw new IllegalStateException("every Java has SHA-256", e);
      }
      long size = 0;
      try (InputStream in = Files.newInputStream(file)) {
        byte[] buffer = new byte[BUFFER];
        for (int count = in.read(buffer); count >= 0; count = in.read(buffer)) {
          sha256.update(buffer, 0, count);
          size += count;
        }
      }
      return new Digest(HexFormat.of().formatHex(sha256.digest()), size);
    }
  }
}
