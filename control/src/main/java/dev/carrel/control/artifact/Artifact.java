package dev.carrel.control.artifact;

import dev.carrel.control.audit.SigningKey;
import dev.carrel.spi.ExecId;
import dev.carrel.spi.SandboxId;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Base64;
import org.jspecify.annotations.Nullable;

/**
 * A file as it left a sandbox: the digest is of the bytes that a download gives, secrets masked.
 *
 * @param exec what left it; null when somebody asked for it
 * @param path relative to /workspace, as the sandbox named it
 * @param sha256 in hex
 * @param mime by its name alone
 * @param signature Ed25519 over {@link #statement}, base64
 * @param key the id of the key that signed
 */
public record Artifact(
    String tenant,
    String namespace,
    SandboxId sandbox,
    @Nullable ExecId exec,
    String path,
    String sha256,
    long size,
    String mime,
    String signature,
    String key,
    Instant signedAt) {

  /**
   * What the signature of one file covers: its bytes and nothing else, so that whoever has the file
   * can check it. What it is called and where it came from, the manifest says.
   */
  static byte[] statement(String sha256, long size) {
    return "carrel artifact 1\n%s\n%d\n"
        .formatted(sha256, size)
        .getBytes(StandardCharsets.US_ASCII);
  }

  static String sign(SigningKey key, String sha256, long size) {
    return Base64.getEncoder().encodeToString(key.sign(statement(sha256, size)));
  }
}
