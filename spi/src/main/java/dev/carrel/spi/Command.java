package dev.carrel.spi;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * One process to run in a sandbox.
 *
 * @param environment added to, and winning over, the sandbox's own
 * @param cwd absolute; null means /workspace
 * @param terminal null means pipes
 * @param timeout null means none
 * @param stdin whether the caller will write standard input
 */
public record Command(
    List<String> arguments,
    Map<String, String> environment,
    @Nullable String cwd,
    @Nullable TerminalSize terminal,
    @Nullable Duration timeout,
    boolean stdin) {

  public Command {
    arguments = List.copyOf(arguments);
    environment = Map.copyOf(environment);
    if (arguments.isEmpty() || arguments.getFirst().isEmpty()) {
      throw SandboxException.invalid("command", "must not be empty");
    }
    for (String argument : arguments) {
      if (argument.indexOf('\0') >= 0) {
        throw SandboxException.invalid("command", "must not contain NUL");
      }
    }
    environment.forEach(
        (name, value) -> {
          if (name.isEmpty() || name.indexOf('=') >= 0 || (name + value).indexOf('\0') >= 0) {
            throw SandboxException.invalid("env", "not a variable: " + Text.printable(name, 64));
          }
        });
    if (cwd != null && (!cwd.startsWith("/") || cwd.indexOf('\0') >= 0)) {
      throw SandboxException.invalid("cwd", "must be an absolute path");
    }
    if (timeout != null && (timeout.isNegative() || timeout.isZero())) {
      throw SandboxException.invalid("timeout_seconds", "must be positive");
    }
  }

  /** Runs a line of shell, as most agents do. */
  public static Command shell(String line) {
    return of("/bin/sh", "-c", line);
  }

  public static Command of(String... arguments) {
    return new Command(List.of(arguments), Map.of(), null, null, null, false);
  }

  public Command withEnvironment(Map<String, String> newEnvironment) {
    return new Command(arguments, newEnvironment, cwd, terminal, timeout, stdin);
  }

  public Command withCwd(@Nullable String newCwd) {
    return new Command(arguments, environment, newCwd, terminal, timeout, stdin);
  }

  public Command withTerminal(@Nullable TerminalSize newTerminal) {
    return new Command(arguments, environment, cwd, newTerminal, timeout, stdin);
  }

  public Command withTimeout(@Nullable Duration newTimeout) {
    return new Command(arguments, environment, cwd, terminal, newTimeout, stdin);
  }

  public Command withStdin(boolean newStdin) {
    return new Command(arguments, environment, cwd, terminal, timeout, newStdin);
  }

  /** Rows and columns of a terminal. */
  public record TerminalSize(int rows, int columns) {
    public TerminalSize {
      if (rows < 1 || rows > 1000 || columns < 1 || columns > 1000) {
        throw SandboxException.invalid("rows", "rows and cols must be between 1 and 1000");
      }
    }
  }
}
