package dev.carrel.sdk;

/**
 * One primitive of isolation, for example {@code seccomp}.
 *
 * @param detail how it was applied, or why it was not
 */
public record Measure(String name, boolean applied, String detail) {}
