package dev.carrel.sdk;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * What a sandbox uses now.
 *
 * @param cpuSeconds since its machine started: two looks give the load between them
 * @param cpuCores the limit
 * @param pids the limit of processes
 * @param lastCommand shortened
 */
public record SandboxUsage(
    String id,
    String status,
    String engine,
    String image,
    String userId,
    double cpuSeconds,
    double cpuCores,
    long memoryBytes,
    long memoryLimitBytes,
    long processes,
    int pids,
    @Nullable String lastCommand,
    Instant createdAt,
    Instant lastActivityAt) {}
