package dev.carrel.sdk;

import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A call that failed: the server refused it, or could not be reached. The message is meant for
 * people; match on {@link #code()}.
 */
public final class CarrelException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final ErrorCode code;
  private final int status;
  private final @Nullable String hint;
  private final @Nullable String field;

  CarrelException(
      ErrorCode code,
      int status,
      String message,
      @Nullable String hint,
      @Nullable String field,
      @Nullable Throwable cause) {
    super(message, cause);
    this.code = code;
    this.status = status;
    this.hint = hint;
    this.field = field;
  }

  static CarrelException unreachable(String message, @Nullable Throwable cause) {
    return new CarrelException(ErrorCode.UNREACHABLE, 0, message, null, null, cause);
  }

  static CarrelException invalid(String field, String message) {
    return new CarrelException(
        ErrorCode.INVALID_INPUT, 0, field + ": " + message, null, field, null);
  }

  /** What went wrong, as a closed set. */
  public ErrorCode code() {
    return code;
  }

  /** The HTTP status, or 0 when there was no answer. */
  public int status() {
    return status;
  }

  public String message() {
    return String.valueOf(getMessage());
  }

  /** What to do about it. */
  public Optional<String> hint() {
    return Optional.ofNullable(hint);
  }

  /** The input field at fault. */
  public Optional<String> field() {
    return Optional.ofNullable(field);
  }
}
