package dev.carrel.sdk;

import com.fasterxml.jackson.annotation.JsonIgnore;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What to run and how.
 *
 * @param command a line of shell (a String) or a program with its arguments (a List)
 * @param stdin the whole standard input, when it is known
 * @param stdinOpen whether {@link ExecStream#write} will be used
 * @param terminal its size, to give the command a terminal
 * @param artifacts files to sign when it has ended, besides those in /workspace/outputs
 * @param secrets names of those that it gets in its environment
 */
public record ExecOptions(
    Object command,
    @Nullable Double timeoutSeconds,
    @Nullable String cwd,
    Map<String, String> env,
    @Nullable String stdin,
    boolean stdinOpen,
    @Nullable TerminalSize terminal,
    boolean background,
    List<String> secrets,
    List<String> artifacts,
    @JsonIgnore @Nullable String idempotencyKey) {

  public ExecOptions {
    env = Map.copyOf(env);
    secrets = List.copyOf(secrets);
    artifacts = List.copyOf(artifacts);
  }

  /** Rows and columns. */
  public record TerminalSize(int rows, int cols) {}

  public static ExecOptions shell(String line) {
    return new ExecOptions(
        line, null, null, Map.of(), null, false, null, false, List.of(), List.of(), null);
  }

  public static ExecOptions of(List<String> arguments) {
    return new ExecOptions(
        List.copyOf(arguments),
        null,
        null,
        Map.of(),
        null,
        false,
        null,
        false,
        List.of(),
        List.of(),
        null);
  }

  /** At its end the whole process tree is killed. */
  public ExecOptions withTimeout(Duration timeout) {
    return new ExecOptions(
        command,
        timeout.toMillis() / 1000.0,
        cwd,
        env,
        stdin,
        stdinOpen,
        terminal,
        background,
        secrets,
        artifacts,
        idempotencyKey);
  }

  public ExecOptions withCwd(String value) {
    return new ExecOptions(
        command,
        timeoutSeconds,
        value,
        env,
        stdin,
        stdinOpen,
        terminal,
        background,
        secrets,
        artifacts,
        idempotencyKey);
  }

  public ExecOptions withEnv(Map<String, String> value) {
    return new ExecOptions(
        command,
        timeoutSeconds,
        cwd,
        value,
        stdin,
        stdinOpen,
        terminal,
        background,
        secrets,
        artifacts,
        idempotencyKey);
  }

  public ExecOptions withStdin(String value) {
    return new ExecOptions(
        command,
        timeoutSeconds,
        cwd,
        env,
        value,
        stdinOpen,
        terminal,
        background,
        secrets,
        artifacts,
        idempotencyKey);
  }

  public ExecOptions withStdinOpen(boolean value) {
    return new ExecOptions(
        command,
        timeoutSeconds,
        cwd,
        env,
        stdin,
        value,
        terminal,
        background,
        secrets,
        artifacts,
        idempotencyKey);
  }

  public ExecOptions withTerminal(@Nullable TerminalSize value) {
    return new ExecOptions(
        command,
        timeoutSeconds,
        cwd,
        env,
        stdin,
        stdinOpen,
        value,
        background,
        secrets,
        artifacts,
        idempotencyKey);
  }

  /**
   * A name of the caller's own for this one command, for example a random UUID. The command then
   * survives a broken connection, which is made again by itself; sent twice it runs once. Closing
   * the exec no longer kills it.
   */
  public ExecOptions withIdempotencyKey(@Nullable String value) {
    return new ExecOptions(
        command,
        timeoutSeconds,
        cwd,
        env,
        stdin,
        stdinOpen,
        terminal,
        background,
        secrets,
        artifacts,
        value);
  }

  public ExecOptions withBackground(boolean value) {
    return new ExecOptions(
        command,
        timeoutSeconds,
        cwd,
        env,
        stdin,
        stdinOpen,
        terminal,
        value,
        secrets,
        artifacts,
        idempotencyKey);
  }

  /** Names of secrets of the sandbox's namespace that this command gets in its environment. */
  public ExecOptions withSecrets(List<String> value) {
    return new ExecOptions(
        command,
        timeoutSeconds,
        cwd,
        env,
        stdin,
        stdinOpen,
        terminal,
        background,
        value,
        artifacts,
        idempotencyKey);
  }

  /** Files to sign when it has ended, besides those that it changed in /workspace/outputs. */
  public ExecOptions withArtifacts(List<String> value) {
    return new ExecOptions(
        command,
        timeoutSeconds,
        cwd,
        env,
        stdin,
        stdinOpen,
        terminal,
        background,
        secrets,
        value,
        idempotencyKey);
  }
}
