package dev.carrel.sdk;

import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What running code reports, in order: any Queued, one Started, any Output, Display and Gap, at
 * most one Result and one Failed, one Done.
 */
public sealed interface CodeEvent {
  /**
   * It waits for its turn on a busy server.
   *
   * @param position 1 is the next
   */
  record Queued(int position) implements CodeEvent {}

  /**
   * @param queuedMs how long it waited for its turn
   */
  record Started(double queuedMs) implements CodeEvent {}

  record Output(ExecEvent.Channel channel, String text) implements CodeEvent {}

  /** A figure or a display call, by mime type; text types hold text, others base64. */
  record Display(Map<String, String> bundle) implements CodeEvent {}

  /** The last expression's value. */
  record Result(Map<String, String> bundle) implements CodeEvent {}

  record Failed(CodeError error) implements CodeEvent {}

  /** Events that are no longer kept; only where there is an idempotency key. */
  record Gap(long events) implements CodeEvent {}

  /** The end; see {@link CodeResult} for the fields. */
  record Done(
      boolean success,
      String contextId,
      String language,
      long executionCount,
      long stdoutBytes,
      long stderrBytes,
      String cause,
      boolean timedOut,
      boolean interrupted,
      boolean truncated,
      String state,
      double queuedMs,
      double durationMs,
      @Nullable String hint)
      implements CodeEvent {}
}
