package dev.carrel.sdk;

/** A file of the host that was written. */
public record HostWritten(String path, long size) {}
