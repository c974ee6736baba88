package dev.carrel.control.exec;

/**
 * A stream's text, cut in the middle when it was too long; broken UTF-8 is repaired.
 *
 * @param totalBytes that the program wrote
 */
public record CapturedText(String text, long totalBytes, boolean truncated) {}
