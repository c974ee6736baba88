package dev.carrel.sdk;

import com.fasterxml.jackson.annotation.JsonIgnore;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Code to run in a context.
 *
 * @param contextId null: the sandbox's own context of that language
 */
public record CodeOptions(
    String language,
    String code,
    @Nullable String contextId,
    @Nullable Double timeoutSeconds,
    @JsonIgnore @Nullable String idempotencyKey) {

  public static CodeOptions of(String language, String code) {
    return new CodeOptions(language, code, null, null, null);
  }

  public CodeOptions withContextId(@Nullable String value) {
    return new CodeOptions(language, code, value, timeoutSeconds, idempotencyKey);
  }

  /** At its end the code is interrupted and, if that does not help, the interpreter killed. */
  public CodeOptions withTimeout(Duration value) {
    return new CodeOptions(language, code, contextId, value.toMillis() / 1000.0, idempotencyKey);
  }

  /**
   * A name of the caller's own for this one execution, for example a random UUID. It then survives
   * a broken connection, which is made again by itself; sent twice it runs once. Closing the stream
   * no longer interrupts it.
   */
  public CodeOptions withIdempotencyKey(@Nullable String value) {
    return new CodeOptions(language, code, contextId, timeoutSeconds, value);
  }
}
