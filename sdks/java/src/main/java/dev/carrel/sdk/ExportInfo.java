package dev.carrel.sdk;

import java.time.Instant;

/** A file or folder that may leave its sandbox. */
public record ExportInfo(String id, String path, Instant createdAt) {}
