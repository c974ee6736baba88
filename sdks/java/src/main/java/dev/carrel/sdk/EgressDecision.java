package dev.carrel.sdk;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * What was decided about something that a sandbox wanted to reach; like decisions are counted.
 *
 * @param outcome {@code allowed}, {@code denied}, {@code observed} or {@code failed}
 * @param protocol {@code http}, {@code connect} or {@code socks}
 * @param method of a plain request
 * @param path of the last plain request, without its query
 * @param rule what decided it; null: that nothing allowed it
 */
public record EgressDecision(
    String outcome,
    String protocol,
    String host,
    int port,
    @Nullable String method,
    @Nullable String path,
    @Nullable String reason,
    @Nullable String rule,
    String detail,
    long count,
    Instant firstAt,
    Instant lastAt) {}
