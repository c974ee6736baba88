package dev.carrel.egress;

/** A page that was not fetched, and what can be done about it. */
public final class FetchException extends Exception {
  private static final long serialVersionUID = 1L;

  private final boolean denied;
  private final String hint;

  FetchException(String message, boolean denied, String hint, Throwable cause) {
    super(message, cause);
    this.denied = denied;
    this.hint = hint;
  }

  /** Whether somebody forbade it; otherwise it did not work out. */
  public boolean denied() {
    return denied;
  }

  public String hint() {
    return hint;
  }
}
