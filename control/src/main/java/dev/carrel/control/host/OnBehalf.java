package dev.carrel.control.host;

import dev.carrel.spi.SandboxId;
import org.jspecify.annotations.Nullable;

/**
 * For whom something is done on the host; approvals are for one sandbox or for a namespace.
 *
 * @param sandbox null: for none
 * @param namespace null: the sandbox's, or the default one
 */
public record OnBehalf(@Nullable SandboxId sandbox, @Nullable String namespace) {}
