package dev.carrel.sdk;

/**
 * A file that an exec left different.
 *
 * @param path relative to /workspace
 * @param action created, modified or deleted
 * @param type file or dir
 */
public record FileChange(String path, String action, long sizeBytes, String type) {}
