package dev.carrel.control.sandbox;

import dev.carrel.spi.Language;
import dev.carrel.spi.Preload;
import org.jspecify.annotations.Nullable;

/**
 * A kind of interpreter that a box can have before it has an owner.
 *
 * @param preload what it has imported; null: the server's usual
 */
public record Interpreter(Language language, @Nullable Preload preload) {}
