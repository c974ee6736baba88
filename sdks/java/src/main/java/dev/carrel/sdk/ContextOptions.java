package dev.carrel.sdk;

import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * How an interpreter should start; what is left out has the server's default.
 *
 * @param env on top of the sandbox's own
 * @param secrets names of those of the sandbox's namespace that it gets in its environment
 * @param preload plain, ipython, or data: IPython, numpy, pandas and matplotlib; for Python
 */
public record ContextOptions(
    @Nullable String cwd, Map<String, String> env, List<String> secrets, @Nullable String preload) {
  public ContextOptions {
    env = Map.copyOf(env);
    secrets = List.copyOf(secrets);
  }

  public static ContextOptions defaults() {
    return new ContextOptions(null, Map.of(), List.of(), null);
  }

  public ContextOptions withCwd(String value) {
    return new ContextOptions(value, env, secrets, preload);
  }

  public ContextOptions withEnv(Map<String, String> value) {
    return new ContextOptions(cwd, value, secrets, preload);
  }

  public ContextOptions withSecrets(List<String> value) {
    return new ContextOptions(cwd, env, value, preload);
  }

  public ContextOptions withPreload(String value) {
    return new ContextOptions(cwd, env, secrets, value);
  }
}
