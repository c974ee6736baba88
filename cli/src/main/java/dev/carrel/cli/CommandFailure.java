package dev.carrel.cli;

import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Carrel itself could not do what was asked: message, maybe a hint, and an exit code. */
public final class CommandFailure extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final @Nullable String hint;
  private final int code;

  public CommandFailure(String message) {
    this(message, null);
  }

  public CommandFailure(String message, @Nullable String hint) {
    this(message, hint, Cli.FAILED);
  }

  private CommandFailure(String message, @Nullable String hint, int code) {
    super(message);
    this.hint = hint;
    this.code = code;
  }

  /** What was asked cannot be meant. */
  static CommandFailure usage(String message) {
    return usage(message, null);
  }

  static CommandFailure usage(String message, @Nullable String hint) {
    return new CommandFailure(message, hint, Cli.USAGE);
  }

  int code() {
    return code;
  }

  Optional<String> hint() {
    return Optional.ofNullable(hint);
  }
}
