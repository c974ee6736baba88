package dev.carrel.egress;

import java.util.Locale;

/** Why something did not go out, with the status that an HTTP client is told. */
public enum Reason {
  NOT_ALLOWED(403),
  DENIED(403),
  PORT(403),
  METHOD_OR_PATH(403),
  ADDRESS(403),
  NO_TLS(403),
  TLS_NAME(403),
  TLS_HIDDEN_NAME(403),
  BUDGET(403),
  CANARY(403),
  TOKEN(407),
  MALFORMED(400),
  TOO_MANY(503),
  UNRESOLVED(502),
  UNREACHABLE(502),
  TLS_FAILED(502),
  TIMED_OUT(504);

  private final int status;

  Reason(int status) {
    this.status = status;
  }

  int status() {
    return status;
  }

  /** Whether somebody forbade it; otherwise it did not work out. */
  boolean forbids() {
    return status == 403 || status == 407;
  }

  public String wireName() {
    return name().toLowerCase(Locale.ROOT);
  }
}
