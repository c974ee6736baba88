package dev.carrel.spi;

import java.util.Locale;

/**
 * Everything that can go wrong, once. A transport maps the {@link Kind}, clients match the code.
 */
public enum ErrorCode {
  INVALID_INPUT(Kind.CALLER),
  UNAUTHENTICATED(Kind.IDENTITY),
  FORBIDDEN(Kind.PERMISSION),
  SANDBOX_NOT_FOUND(Kind.ABSENT),
  EXEC_NOT_FOUND(Kind.ABSENT),
  CONTEXT_NOT_FOUND(Kind.ABSENT),
  FILE_NOT_FOUND(Kind.ABSENT),
  VOLUME_NOT_FOUND(Kind.ABSENT),
  SNAPSHOT_NOT_FOUND(Kind.ABSENT),
  SECRET_NOT_FOUND(Kind.ABSENT),
  APPROVAL_NOT_FOUND(Kind.ABSENT),
  KEY_NOT_FOUND(Kind.ABSENT),
  EXPORT_NOT_FOUND(Kind.ABSENT),
  UPLOAD_NOT_FOUND(Kind.ABSENT),
  SKILL_NOT_FOUND(Kind.ABSENT),
  IMAGE_NOT_FOUND(Kind.CALLER),
  IMAGE_INVALID(Kind.CALLER),
  IMAGE_SOURCE_FAILED(Kind.ENGINE),
  LANGUAGE_NOT_AVAILABLE(Kind.CALLER),
  ENGINE_NOT_AVAILABLE(Kind.CALLER),
  ISOLATION_NOT_AVAILABLE(Kind.CALLER),
  NOT_SUPPORTED(Kind.CALLER),
  KEY_REUSED(Kind.CALLER),
  NOT_A_FILE(Kind.CALLER),
  NOT_A_DIRECTORY(Kind.CALLER),
  FILE_EXISTS(Kind.CONFLICT),
  DIRECTORY_NOT_EMPTY(Kind.CONFLICT),
  PERMISSION_DENIED(Kind.CALLER),
  WRONG_STATE(Kind.CONFLICT),
  PRECONDITION_FAILED(Kind.PRECONDITION),
  RANGE_NOT_SATISFIABLE(Kind.RANGE),
  TOO_LARGE(Kind.SIZE),
  NO_SPACE(Kind.STORAGE),
  LIMIT_REACHED(Kind.LIMIT),
  BUDGET_EXHAUSTED(Kind.PERMISSION),
  EGRESS_DENIED(Kind.PERMISSION),
  WEB_FAILED(Kind.ENGINE),
  PORT_CLOSED(Kind.APP),
  APP_FAILED(Kind.APP),
  SANDBOX_GONE(Kind.GONE),
  RESULT_GONE(Kind.GONE),
  GUEST_LOST(Kind.ENGINE),
  ENGINE_FAILED(Kind.ENGINE),
  STORE_BUSY(Kind.UNAVAILABLE),
  SHUTTING_DOWN(Kind.UNAVAILABLE),
  VAULT_DAMAGED(Kind.UNAVAILABLE),
  INTERNAL(Kind.BUG);

  /** Whose matter it is, and so which family of answers it gets. */
  public enum Kind {
    CALLER,
    IDENTITY,
    PERMISSION,
    ABSENT,
    CONFLICT,
    PRECONDITION,
    RANGE,
    SIZE,
    STORAGE,
    LIMIT,
    GONE,
    /** What listens in a sandbox, which is its owner's. */
    APP,
    ENGINE,
    UNAVAILABLE,
    BUG
  }

  private final Kind kind;

  ErrorCode(Kind kind) {
    this.kind = kind;
  }

  public Kind kind() {
    return kind;
  }

  /** As it stands on the wire: lower case with underscores. */
  public String wireName() {
    return name().toLowerCase(Locale.ROOT);
  }
}
