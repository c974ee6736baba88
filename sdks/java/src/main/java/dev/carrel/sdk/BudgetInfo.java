package dev.carrel.sdk;

import org.jspecify.annotations.Nullable;

/**
 * What may be used up in all, and has been; null: no limit.
 *
 * @param scope sandbox or namespace
 * @param name whose it is
 */
public record BudgetInfo(
    String scope,
    String name,
    @Nullable Long cpuSeconds,
    @Nullable Long egressBytes,
    @Nullable Long executions,
    double cpuSecondsUsed,
    long egressBytesUsed,
    long executionsUsed) {}
