package dev.carrel.control.files;

import org.jspecify.annotations.Nullable;

/**
 * A part of a file, as HTTP says it.
 *
 * @param first null: the last {@code last} bytes
 * @param last inclusive; null: to the end
 */
public record ByteRange(@Nullable Long first, @Nullable Long last) {}
