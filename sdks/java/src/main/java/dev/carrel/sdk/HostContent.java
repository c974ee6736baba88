package dev.carrel.sdk;

/**
 * A part of a file of the host.
 *
 * @param base64 whether the content is
 * @param size of the whole file
 * @param truncated whether there is more after this
 */
public record HostContent(
    String path, String content, boolean base64, long size, boolean truncated) {}
