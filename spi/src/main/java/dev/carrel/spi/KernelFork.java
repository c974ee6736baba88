package dev.carrel.spi;

import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A warm interpreter that is wanted in a running machine. There it is an exec with a control
 * channel like any other, kept when its connection ends.
 *
 * @param cwd null: /workspace
 * @param environment the whole of it
 */
public record KernelFork(
    ExecId exec,
    Language language,
    Preload preload,
    @Nullable String cwd,
    Map<String, String> environment) {
  public KernelFork {
    environment = Map.copyOf(environment);
  }
}
