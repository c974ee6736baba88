package dev.carrel.control.sandbox;

import dev.carrel.spi.Machine;
import org.jspecify.annotations.Nullable;

/**
 * What a running or paused sandbox uses now.
 *
 * @param lastCommand shortened; null when nothing has run since the server knows it
 */
public record SandboxUsage(Sandbox sandbox, Machine.Usage usage, @Nullable String lastCommand) {}
