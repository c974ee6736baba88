package dev.carrel.sdk;

import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * How a terminal is opened.
 *
 * @param command null: a login shell
 * @param cwd null: /workspace
 * @param secrets names of those that it gets besides the sandbox's own
 */
public record TerminalOptions(
    @Nullable List<String> command,
    @Nullable String cwd,
    Map<String, String> env,
    ExecOptions.@Nullable TerminalSize size,
    List<String> secrets) {
  public TerminalOptions {
    command = command == null ? null : List.copyOf(command);
    env = Map.copyOf(env);
    secrets = List.copyOf(secrets);
  }

  /** A login shell. */
  public static TerminalOptions shell() {
    return new TerminalOptions(null, null, Map.of(), null, List.of());
  }

  /** A program with its arguments. */
  public static TerminalOptions of(List<String> command) {
    return new TerminalOptions(command, null, Map.of(), null, List.of());
  }

  public TerminalOptions withCwd(String newCwd) {
    return new TerminalOptions(command, newCwd, env, size, secrets);
  }

  public TerminalOptions withEnv(Map<String, String> newEnv) {
    return new TerminalOptions(command, cwd, newEnv, size, secrets);
  }

  public TerminalOptions withSize(ExecOptions.TerminalSize newSize) {
    return new TerminalOptions(command, cwd, env, newSize, secrets);
  }

  public TerminalOptions withSecrets(List<String> newSecrets) {
    return new TerminalOptions(command, cwd, env, size, newSecrets);
  }
}
