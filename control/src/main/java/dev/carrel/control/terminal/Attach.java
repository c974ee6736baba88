package dev.carrel.control.terminal;

import dev.carrel.spi.SandboxException;
import org.jspecify.annotations.Nullable;

/**
 * How to join a terminal.
 *
 * @param from offset of the first byte to be shown; null: where the last {@code scrollback} begin
 * @param scrollback bytes to be shown of what was before, from the beginning of a line
 */
public record Attach(Mode mode, @Nullable Long from, int scrollback) {
  public static final int USUAL_SCROLLBACK = 64 * 1024;

  /** What is kept of the end of any output. */
  public static final int MAX_SCROLLBACK = 1024 * 1024;

  public Attach {
    if (from != null && from < 0) {
      throw SandboxException.invalid("from", "must not be negative");
    }
    if (scrollback < 0 || scrollback > MAX_SCROLLBACK) {
      throw SandboxException.invalid("scrollback", "must be between 0 and " + MAX_SCROLLBACK);
    }
  }
}
