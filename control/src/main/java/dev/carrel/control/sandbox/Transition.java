package dev.carrel.control.sandbox;

import java.time.Instant;

/**
 * One change of a sandbox's status, as the journal has it.
 *
 * @param cause a word: who or what wanted it
 */
public record Transition(
    long generation, SandboxStatus from, SandboxStatus to, Instant at, String cause) {}
