package dev.carrel.sdk;

import com.fasterxml.jackson.annotation.JsonIgnore;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Code to run in a context.
 *
 * @param contextId null: the sandbox's own context of that language
 * @param validate what dangerous calls mean, looked for first: reject, warn or off; null: it is not
 *     looked at
 * @param autoFix whether it runs with the imports that validation finds missing
 */
public record CodeOptions(
    String language,
    String code,
    @Nullable String contextId,
    @Nullable Double timeoutSeconds,
    @Nullable String validate,
    boolean autoFix,
    @JsonIgnore @Nullable String idempotencyKey) {

  public static CodeOptions of(String language, String code) {
    return new CodeOptions(language, code, null, null, null, false, null);
  }

  public CodeOptions withContextId(@Nullable String value) {
    return new CodeOptions(
        language, code, value, timeoutSeconds, validate, autoFix, idempotencyKey);
  }

  /** At its end the code is interrupted and, if that does not help, the interpreter killed. */
  public CodeOptions withTimeout(Duration value) {
    double seconds = value.toMillis() / 1000.0;
    return new CodeOptions(language, code, contextId, seconds, validate, autoFix, idempotencyKey);
  }

  /** Looks at the code first; what cannot be read is refused. */
  public CodeOptions withValidate(@Nullable String onDanger, boolean fix) {
    return new CodeOptions(
        language, code, contextId, timeoutSeconds, onDanger, fix, idempotencyKey);
  }

  /**
   * A name of the caller's own for this one execution, for example a random UUID. It then survives
   * a broken connection, which is made again by itself; sent twice it runs once. Closing the stream
   * no longer interrupts it.
   */
  public CodeOptions withIdempotencyKey(@Nullable String value) {
    return new CodeOptions(language, code, contextId, timeoutSeconds, validate, autoFix, value);
  }
}
