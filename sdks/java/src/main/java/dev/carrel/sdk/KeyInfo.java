package dev.carrel.sdk;

import org.jspecify.annotations.Nullable;

/**
 * A key that a client comes in with.
 *
 * @param mask its beginning
 * @param key itself; null unless it was made just now
 */
public record KeyInfo(
    String id,
    String name,
    String tenant,
    String principal,
    String role,
    String mask,
    String createdBy,
    String createdAt,
    @Nullable String key) {}
