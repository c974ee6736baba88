package dev.carrel.sdk;

import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Something that was done.
 *
 * @param sequence grows by one from record to record of a server
 * @param principal who did it; {@code carrel} is the server itself
 * @param action two words such as {@code exec.run}
 * @param subject the id of an exec or context, a path, a name
 * @param requestDigest SHA-256 of the request in hex
 * @param cause how it ended
 * @param stdout its beginning and its end
 * @param hash over this record and the hash of the one before
 */
public record AuditRecord(
    long sequence,
    Instant at,
    String tenant,
    String principal,
    String namespace,
    @Nullable String sandboxId,
    String action,
    @Nullable String subject,
    @Nullable String requestDigest,
    String cause,
    @Nullable Integer exitCode,
    @Nullable Double durationMs,
    @Nullable String stdout,
    @Nullable String stderr,
    List<FileChange> filesChanged,
    @Nullable String isolation,
    Map<String, String> details,
    String hash) {}
