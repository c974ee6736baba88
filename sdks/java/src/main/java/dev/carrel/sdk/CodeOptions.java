package dev.carrel.sdk;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Code to run in a context.
 *
 * @param contextId null: the sandbox's own context of that language
 */
public record CodeOptions(
    String language, String code, @Nullable String contextId, @Nullable Double timeoutSeconds) {

  public static CodeOptions of(String language, String code) {
    return new CodeOptions(language, code, null, null);
  }

  public CodeOptions withContextId(@Nullable String value) {
    return new CodeOptions(language, code, value, timeoutSeconds);
  }

  /** At its end the code is interrupted and, if that does not help, the interpreter killed. */
  public CodeOptions withTimeout(Duration value) {
    return new CodeOptions(language, code, contextId, value.toMillis() / 1000.0);
  }
}
