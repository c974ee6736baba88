package dev.carrel.sdk;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A command that ended, folded into one answer.
 *
 * @param exitCode for a signal 128 and its number
 * @param cause returned, not_started, timed_out, killed, signalled, crashed, out_of_memory,
 *     pids_limit or sandbox_lost
 * @param stdoutTruncated whether the middle was cut out; the whole can be fetched by the exec's id
 * @param queuedMs how long it waited for its turn
 * @param artifacts files that it left in /workspace/outputs, or that were named, signed
 * @param artifactsSkipped those that were not signed, and why
 * @param message why it could not be started
 * @param hint what to do about the cause
 */
public record ExecResult(
    String id,
    int exitCode,
    @Nullable Integer signal,
    String cause,
    boolean timedOut,
    String stdout,
    String stderr,
    long stdoutBytes,
    long stderrBytes,
    boolean stdoutTruncated,
    boolean stderrTruncated,
    long outputBytes,
    double queuedMs,
    double durationMs,
    List<FileChange> filesChanged,
    boolean filesChangedTruncated,
    List<ArtifactInfo> artifacts,
    List<SignedArtifacts.Skipped> artifactsSkipped,
    boolean artifactsTruncated,
    @Nullable String message,
    @Nullable String hint) {}
