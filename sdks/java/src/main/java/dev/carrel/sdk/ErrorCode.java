package dev.carrel.sdk;

import java.util.Locale;

/** The {@code code} of an error, as the server names it. */
public enum ErrorCode {
  INVALID_INPUT,
  UNAUTHENTICATED,
  FORBIDDEN,
  NOT_FOUND,
  METHOD_NOT_ALLOWED,
  SANDBOX_NOT_FOUND,
  EXEC_NOT_FOUND,
  CONTEXT_NOT_FOUND,
  FILE_NOT_FOUND,
  VOLUME_NOT_FOUND,
  SNAPSHOT_NOT_FOUND,
  SECRET_NOT_FOUND,
  APPROVAL_NOT_FOUND,
  KEY_NOT_FOUND,
  IMAGE_NOT_FOUND,
  IMAGE_INVALID,
  IMAGE_SOURCE_FAILED,
  LANGUAGE_NOT_AVAILABLE,
  ENGINE_NOT_AVAILABLE,
  ISOLATION_NOT_AVAILABLE,
  NOT_SUPPORTED,
  KEY_REUSED,
  NOT_A_FILE,
  NOT_A_DIRECTORY,
  FILE_EXISTS,
  DIRECTORY_NOT_EMPTY,
  PERMISSION_DENIED,
  WRONG_STATE,
  PRECONDITION_FAILED,
  RANGE_NOT_SATISFIABLE,
  TOO_LARGE,
  NO_SPACE,
  LIMIT_REACHED,
  BUDGET_EXHAUSTED,
  EGRESS_DENIED,
  WEB_FAILED,
  PORT_CLOSED,
  APP_FAILED,
  SANDBOX_GONE,
  RESULT_GONE,
  GUEST_LOST,
  ENGINE_FAILED,
  STORE_BUSY,
  SHUTTING_DOWN,
  VAULT_DAMAGED,
  INTERNAL,
  /** No answer at all, or one that broke off. */
  UNREACHABLE,
  /** A code of a newer server. */
  UNKNOWN;

  static ErrorCode parse(String wireName) {
    try {
      return valueOf(wireName.toUpperCase(Locale.ROOT));
    } catch (IllegalArgumentException newer) {
      return UNKNOWN;
    }
  }
}
