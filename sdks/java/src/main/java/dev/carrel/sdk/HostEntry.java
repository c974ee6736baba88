package dev.carrel.sdk;

/**
 * Something in a folder of the host.
 *
 * @param kind {@code file}, {@code directory}, {@code link} or {@code other}
 */
public record HostEntry(String name, String path, String kind, long size, String modifiedAt) {}
