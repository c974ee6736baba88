package dev.carrel.sdk;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * A file as it left a sandbox.
 *
 * @param execId the command that left it; null when somebody asked for it
 * @param path relative to /workspace
 * @param sha256 in hex
 * @param signature Ed25519, base64; see {@link ArtifactKey#signed}
 */
public record ArtifactInfo(
    String sandboxId,
    @Nullable String execId,
    String namespace,
    String path,
    String sha256,
    long sizeBytes,
    String mime,
    String signature,
    String keyId,
    Instant signedAt) {}
