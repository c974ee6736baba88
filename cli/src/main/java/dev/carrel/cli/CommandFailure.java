package dev.carrel.cli;

import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Carrel itself could not do what was asked: message, maybe a hint, exit code 125. */
public final class CommandFailure extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final @Nullable String hint;

  public CommandFailure(String message) {
    this(message, null);
  }

  public CommandFailure(String message, @Nullable String hint) {
    super(message);
    this.hint = hint;
  }

  Optional<String> hint() {
    return Optional.ofNullable(hint);
  }
}
