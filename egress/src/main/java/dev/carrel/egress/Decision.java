package dev.carrel.egress;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * What was decided about one thing that a sandbox wanted.
 *
 * @param protocol {@code http}, {@code https}, {@code connect} or {@code socks}
 * @param host canonical; as it came when it could not be read
 * @param port 0: not known
 * @param method of a plain request
 * @param path of a plain request, without the query
 * @param reason null: it passed
 * @param rule what decided it, in its own words; null: that nothing allowed it
 */
public record Decision(
    Instant at,
    String protocol,
    String host,
    int port,
    @Nullable String method,
    @Nullable String path,
    Outcome outcome,
    @Nullable Reason reason,
    @Nullable String rule,
    String detail) {

  /** How it ended. */
  public enum Outcome {
    ALLOWED,
    DENIED,
    /** It passed only because the policy looks and does not enforce. */
    OBSERVED,
    /** It was allowed, or never asked for properly, and did not work out. */
    FAILED
  }
}
