package dev.carrel.control.port;

import java.time.Instant;

/**
 * Opens one port of one sandbox for whoever has it.
 *
 * @param token to be shown with each request
 */
public record PortLink(String token, Instant expiresAt) {}
