package dev.carrel.control.context;

import dev.carrel.spi.Language;
import dev.carrel.spi.Preload;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * An interpreter to start.
 *
 * @param cwd null: /workspace
 * @param environment on top of the sandbox's own
 * @param preload what a warm interpreter should have imported; null: the server's usual one
 * @param secrets names of those that it gets besides the sandbox's own
 */
public record CreateContext(
    Language language,
    @Nullable String cwd,
    Map<String, String> environment,
    @Nullable Preload preload,
    List<String> secrets) {
  public CreateContext {
    secrets = List.copyOf(secrets);
    environment = Map.copyOf(environment);
  }

  public static CreateContext of(Language language) {
    return new CreateContext(language, null, Map.of(), null, List.of());
  }

  public CreateContext withSecrets(String... newSecrets) {
    return new CreateContext(language, cwd, environment, preload, List.of(newSecrets));
  }
}
