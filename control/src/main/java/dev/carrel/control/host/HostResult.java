package dev.carrel.control.host;

import java.time.Duration;

/**
 * What became of a command.
 *
 * @param code 128 and the signal, when one ended it
 * @param cut whether there was more output than is kept
 */
public record HostResult(
    int code, String stdout, String stderr, boolean timedOut, boolean cut, Duration duration) {}
