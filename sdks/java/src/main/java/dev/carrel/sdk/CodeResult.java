package dev.carrel.sdk;

import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Code that ended.
 *
 * @param status ok, error, interrupted or died
 * @param result the last expression's value by mime type; text types hold text, others base64
 * @param stateKept false when the interpreter had to be killed or died
 */
public record CodeResult(
    String contextId,
    String language,
    String status,
    String stdout,
    String stderr,
    long stdoutBytes,
    long stderrBytes,
    boolean stdoutTruncated,
    boolean stderrTruncated,
    @Nullable Map<String, String> result,
    List<Map<String, String>> displayOutputs,
    @Nullable CodeError error,
    boolean timedOut,
    boolean stateKept,
    double durationMs,
    @Nullable String hint) {}
