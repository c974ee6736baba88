package dev.carrel.sdk;

import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What running code reports, in order: one Started, any Output and Display, at most one Result and
 * one Failed, one Done.
 */
public sealed interface CodeEvent {
  record Started(String contextId, String language) implements CodeEvent {}

  record Output(ExecEvent.Channel channel, String text) implements CodeEvent {}

  /** A figure or a display call, by mime type; text types hold text, others base64. */
  record Display(Map<String, String> bundle) implements CodeEvent {}

  /** The last expression's value. */
  record Result(Map<String, String> bundle) implements CodeEvent {}

  record Failed(CodeError error) implements CodeEvent {}

  /**
   * @param status ok, error, interrupted or died
   * @param stateKept false when the interpreter had to be killed or died
   */
  record Done(
      String contextId,
      String status,
      boolean timedOut,
      boolean stateKept,
      double durationMs,
      @Nullable String hint)
      implements CodeEvent {}
}
