package dev.carrel.sdk;

/**
 * What became of a command on the host.
 *
 * @param exitCode 128 and the signal, when one ended it
 * @param truncated whether there was more output than is kept
 */
public record HostResult(
    int exitCode,
    String stdout,
    String stderr,
    boolean timedOut,
    boolean truncated,
    long durationMs) {}
