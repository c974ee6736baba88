package dev.carrel.control.context;

import dev.carrel.control.idempotency.RequestKey;
import dev.carrel.spi.ContextId;
import dev.carrel.spi.ExecId;
import dev.carrel.spi.Language;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * A cell to run.
 *
 * @param language null: the context's, or python
 * @param context null: the default context of the language, made on first use
 * @param timeout null: the default of {@link ContextSettings}
 * @param key null: each request is a new cell, which ends with its caller
 * @param request what its record is found by; null: nothing
 */
public record ExecuteCode(
    String code,
    @Nullable Language language,
    @Nullable ContextId context,
    @Nullable Duration timeout,
    @Nullable RequestKey key,
    @Nullable ExecId request) {
  public ExecuteCode(
      String code,
      @Nullable Language language,
      @Nullable ContextId context,
      @Nullable Duration timeout,
      @Nullable RequestKey key) {
    this(code, language, context, timeout, key, null);
  }

  public ExecuteCode(
      String code,
      @Nullable Language language,
      @Nullable ContextId context,
      @Nullable Duration timeout) {
    this(code, language, context, timeout, null);
  }

  public static ExecuteCode of(Language language, String code) {
    return new ExecuteCode(code, language, null, null);
  }

  public ExecuteCode withCode(String newCode) {
    return new ExecuteCode(newCode, language, context, timeout, key, request);
  }

  public ExecuteCode withKey(@Nullable RequestKey newKey) {
    return new ExecuteCode(code, language, context, timeout, newKey, request);
  }

  public ExecuteCode withRequest(ExecId newRequest) {
    return new ExecuteCode(code, language, context, timeout, key, newRequest);
  }
}
