package dev.carrel.control.context;

import dev.carrel.spi.Language;
import dev.carrel.spi.Preload;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * An interpreter to start.
 *
 * @param cwd null: /workspace
 * @param environment on top of the sandbox's own
 * @param preload what a warm interpreter should have imported; null: the server's usual one
 */
public record CreateContext(
    Language language,
    @Nullable String cwd,
    Map<String, String> environment,
    @Nullable Preload preload) {
  public CreateContext {
    environment = Map.copyOf(environment);
  }

  public static CreateContext of(Language language) {
    return new CreateContext(language, null, Map.of(), null);
  }
}
