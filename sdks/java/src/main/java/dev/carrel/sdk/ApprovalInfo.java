package dev.carrel.sdk;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * A request to a person, and its answer.
 *
 * @param kind {@code egress}, {@code host_command} or {@code secret}
 * @param scope {@code once}, {@code sandbox} or {@code namespace}
 * @param status {@code pending}, {@code approved}, {@code denied}, {@code expired}, …
 * @param endsAt when the request ends undecided, or what was granted ends
 */
public record ApprovalInfo(
    String id,
    String tenant,
    String namespace,
    @Nullable String sandboxId,
    String kind,
    String subject,
    String scope,
    String reason,
    String requester,
    String status,
    Instant createdAt,
    @Nullable Instant endsAt,
    @Nullable Instant decidedAt,
    @Nullable String decidedBy,
    @Nullable String note) {}
