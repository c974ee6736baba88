package dev.carrel.spi;

import java.io.IOException;
import java.util.Optional;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * The one failure of Carrel. The message names the thing and the limit and is fit to be shown to
 * the caller.
 */
public final class SandboxException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private static final int MAX_CAUSES = 16;
  private static final String NO_DESCRIPTOR = "Too many open files";
  private static final String NO_DESCRIPTOR_HINT =
      "the server has no descriptor left: try again when less is under way; if it lasts, let the"
          + " server open more files (LimitNOFILE of systemd, ulimit -n) or set"
          + " server.max-connections lower";

  private final ErrorCode code;
  private final @Nullable String field;
  private final @Nullable String hint;

  public SandboxException(ErrorCode code, String message) {
    this(code, message, null, null, null);
  }

  public SandboxException(ErrorCode code, String message, Throwable cause) {
    this(code, message, null, hintOf(cause), cause);
  }

  private SandboxException(
      ErrorCode code,
      String message,
      @Nullable String field,
      @Nullable String hint,
      @Nullable Throwable cause) {
    super(message, cause);
    this.code = code;
    this.field = field;
    this.hint = hint;
  }

  /** Bad input, with the name of the field as the caller wrote it. */
  public static SandboxException invalid(String field, String message) {
    return new SandboxException(ErrorCode.INVALID_INPUT, field + ": " + message, field, null, null);
  }

  /**
   * What a host without descriptors is in need of, wherever the server came upon that: the words
   * are all that the library keeps of the kernel's answer.
   */
  private static @Nullable String hintOf(Throwable cause) {
    int depth = 0;
    for (Throwable next = cause; next != null && depth < MAX_CAUSES; next = next.getCause()) {
      if (next instanceof IOException
          && String.valueOf(next.getMessage()).contains(NO_DESCRIPTOR)) {
        return NO_DESCRIPTOR_HINT;
      }
      depth++;
    }
    return null;
  }

  public SandboxException withHint(String newHint) {
    return new SandboxException(code, message(), field, newHint, getCause());
  }

  /** The same with other words, of the message and the hint. */
  public SandboxException map(UnaryOperator<String> words) {
    return new SandboxException(
        code, words.apply(message()), field, hint == null ? null : words.apply(hint), getCause());
  }

  public ErrorCode code() {
    return code;
  }

  public String message() {
    return String.valueOf(getMessage());
  }

  /** The input field at fault. */
  public Optional<String> field() {
    return Optional.ofNullable(field);
  }

  /** What the caller can do about it. */
  public Optional<String> hint() {
    return Optional.ofNullable(hint);
  }
}
