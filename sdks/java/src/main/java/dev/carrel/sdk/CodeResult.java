package dev.carrel.sdk;

import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Code that ended.
 *
 * @param success false when it failed, was interrupted or lost its interpreter
 * @param executionCount cells run since the state began
 * @param queuedMs how long it waited for its turn
 * @param result the last expression's value by mime type; text types hold text, others base64
 * @param cause how it ended; see {@link ExecResult}
 * @param truncated whether a result, traceback or display was cut or left out
 * @param state kept, or lost when the interpreter had to be killed or died
 */
public record CodeResult(
    boolean success,
    String contextId,
    String language,
    long executionCount,
    String stdout,
    String stderr,
    long stdoutBytes,
    long stderrBytes,
    boolean stdoutTruncated,
    boolean stderrTruncated,
    @Nullable Map<String, String> result,
    List<Display> displayOutputs,
    @Nullable CodeError error,
    String cause,
    boolean timedOut,
    boolean interrupted,
    boolean truncated,
    String state,
    double queuedMs,
    double durationMs,
    @Nullable String hint) {

  /** The last expression's value as text; empty when there is none. */
  public String text() {
    return result == null ? "" : result.getOrDefault("text/plain", "");
  }

  /**
   * The richest type of one figure or display call.
   *
   * @param type its mime type
   * @param data text, or base64 of what is not text
   */
  public record Display(String type, String data) {}
}
