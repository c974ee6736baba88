package dev.carrel.control.approval;

import dev.carrel.spi.SandboxId;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * What somebody asks a person to allow.
 *
 * @param sandbox null: for the whole namespace
 * @param namespace null: the sandbox's, or the default one
 * @param patience how long a person may take to decide; null: an hour
 */
public record AskApproval(
    Approval.Kind kind,
    String subject,
    @Nullable SandboxId sandbox,
    @Nullable String namespace,
    Approval.Scope scope,
    String reason,
    @Nullable Duration patience) {}
