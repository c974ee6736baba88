package dev.carrel.sdk;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * Something that went on in a sandbox.
 *
 * @param id the audit record's number
 * @param kind such as {@code exec}, {@code upload} or {@code stop}
 * @param subject the command, the path or the name that it was about
 * @param outcome one word, such as {@code returned}
 */
public record ActivityInfo(
    long id,
    Instant at,
    String kind,
    @Nullable String subject,
    String principal,
    String outcome,
    @Nullable Integer exitCode,
    @Nullable Double durationMs) {}
