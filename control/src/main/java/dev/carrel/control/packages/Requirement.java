package dev.carrel.control.packages;

import org.jspecify.annotations.Nullable;

/**
 * A package that is asked for.
 *
 * @param version null: the newest that the client finds and {@code text} admits
 * @param text in the client's own way of writing it
 */
record Requirement(String name, @Nullable String version, String text) {}
