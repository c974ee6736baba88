package dev.carrel.control.context;

import dev.carrel.spi.Language;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * An interpreter to start.
 *
 * @param cwd null: /workspace
 * @param environment on top of the sandbox's own
 */
public record CreateContext(
    Language language, @Nullable String cwd, Map<String, String> environment) {
  public CreateContext {
    environment = Map.copyOf(environment);
  }

  public static CreateContext of(Language language) {
    return new CreateContext(language, null, Map.of());
  }
}
