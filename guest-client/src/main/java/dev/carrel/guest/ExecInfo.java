package dev.carrel.guest;

import dev.carrel.spi.ExecId;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * An exec that the guest knows: running, or ended and retained.
 *
 * @param pid inside the sandbox
 * @param end offset after the last output byte so far
 * @param retainedFrom offset of the oldest output byte that an attach can still get
 * @param attached whether some connection is reading it now
 * @param controlled whether it has a control channel, as interpreters have and commands never
 * @param code null while it runs or when a signal ended it
 * @param duration so far, or in all
 */
public record ExecInfo(
    ExecId id,
    long pid,
    boolean running,
    boolean attached,
    boolean controlled,
    long retainedFrom,
    long end,
    @Nullable Integer code,
    @Nullable Integer signal,
    boolean timedOut,
    Duration duration) {}
