package dev.carrel.sdk;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * What is at a path.
 *
 * @param type file, dir, link or other
 * @param mode permission bits in octal
 * @param target of a symbolic link
 */
public record FileEntry(
    String name,
    String path,
    String type,
    long size,
    String mode,
    Instant modifiedAt,
    @Nullable String target,
    String etag) {}
