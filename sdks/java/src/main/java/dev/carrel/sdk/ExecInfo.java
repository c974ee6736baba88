package dev.carrel.sdk;

import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A command as the server lists it.
 *
 * @param status running or exited
 */
public record ExecInfo(
    String id,
    String sandboxId,
    List<String> command,
    @Nullable String cwd,
    String status,
    boolean background,
    boolean terminal,
    long pid,
    Instant startedAt,
    @Nullable Instant endedAt,
    long outputBytes,
    @Nullable Integer exitCode,
    @Nullable Integer signal,
    @Nullable String cause,
    @Nullable Double durationMs) {}
