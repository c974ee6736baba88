package dev.carrel.control.bridge;

import dev.carrel.spi.ContextId;
import dev.carrel.spi.Language;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A variable of an interpreter.
 *
 * @param context null: the default one of the language
 */
public record Variable(
    SandboxId sandbox, Language language, @Nullable ContextId context, String name) {
  /** What is a name in every language; it becomes part of code. */
  private static final Pattern NAME = Pattern.compile("[A-Za-z][A-Za-z0-9_]{0,63}");

  public Variable {
    if (!NAME.matcher(name).matches()) {
      throw SandboxException.invalid(
          "name", "must be a letter, then letters, digits and _, at most 64");
    }
  }
}
