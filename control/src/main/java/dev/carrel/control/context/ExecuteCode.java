package dev.carrel.control.context;

import dev.carrel.spi.ContextId;
import dev.carrel.spi.Language;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * A cell to run.
 *
 * @param language null: the context's, or python
 * @param context null: the default context of the language, made on first use
 * @param timeout null: the default of {@link ContextSettings}
 */
public record ExecuteCode(
    String code,
    @Nullable Language language,
    @Nullable ContextId context,
    @Nullable Duration timeout) {
  public static ExecuteCode of(Language language, String code) {
    return new ExecuteCode(code, language, null, null);
  }
}
