package dev.carrel.control.terminal;

import dev.carrel.control.sandbox.Caller;
import java.time.Instant;

/**
 * What a link lets its holder do.
 *
 * @param caller whom it stands for: the owner of the sandbox
 */
public record Admission(Caller caller, boolean writes, Instant end) {}
