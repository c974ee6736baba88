package dev.carrel.egress;

import org.jspecify.annotations.Nullable;

/** Something that does not go out. Made often and on purpose, so without a stack trace. */
final class RefusedException extends Exception {
  private static final long serialVersionUID = 1L;

  private final Reason reason;
  private final @Nullable String rule;

  RefusedException(Reason reason, String message) {
    this(reason, null, message);
  }

  /**
   * @param rule what decided it, in its own words; null: that nothing allowed it
   */
  RefusedException(Reason reason, @Nullable String rule, String message) {
    super(message, null, false, false);
    this.reason = reason;
    this.rule = rule;
  }

  static RefusedException malformed(String message) {
    return new RefusedException(Reason.MALFORMED, message);
  }

  Reason reason() {
    return reason;
  }

  @Nullable String rule() {
    return rule;
  }

  String message() {
    return String.valueOf(getMessage());
  }
}
