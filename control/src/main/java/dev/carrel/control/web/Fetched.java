package dev.carrel.control.web;

import java.net.URI;
import org.jspecify.annotations.Nullable;

/**
 * A page as an agent reads it.
 *
 * @param uri where it was found, after redirects within its host
 * @param redirect where another host is said to have it: it was not asked; null: nowhere
 * @param type as the server says it
 * @param text Markdown for HTML, the text itself for other text
 * @param cut whether there is more than is told
 * @param cached whether it is what was found a while ago
 */
public record Fetched(
    URI uri,
    int status,
    @Nullable URI redirect,
    String type,
    String title,
    String text,
    boolean cut,
    boolean cached) {
  Fetched fromCache() {
    return new Fetched(uri, status, redirect, type, title, text, cut, true);
  }
}
