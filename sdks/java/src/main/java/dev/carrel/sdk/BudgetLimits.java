package dev.carrel.sdk;

import org.jspecify.annotations.Nullable;

/**
 * Limits to set; null lifts one.
 *
 * @param reset whether counting begins anew; for administrators
 */
public record BudgetLimits(
    @Nullable Long cpuSeconds,
    @Nullable Long egressBytes,
    @Nullable Long executions,
    boolean reset) {}
