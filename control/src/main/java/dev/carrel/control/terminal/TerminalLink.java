package dev.carrel.control.terminal;

import java.time.Instant;

/**
 * Opens one terminal for whoever has it.
 *
 * @param token to be shown when attaching
 */
public record TerminalLink(String token, boolean writes, Instant expiresAt) {}
