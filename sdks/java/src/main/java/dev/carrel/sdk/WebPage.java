package dev.carrel.sdk;

import org.jspecify.annotations.Nullable;

/**
 * A page of the web, readable.
 *
 * @param redirectUrl where another host is said to have it; null: nowhere
 * @param content Markdown for HTML
 * @param cached whether it is what was found a while ago
 */
public record WebPage(
    String url,
    int status,
    @Nullable String redirectUrl,
    String contentType,
    String title,
    String content,
    boolean truncated,
    boolean cached) {}
