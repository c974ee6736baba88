package dev.carrel.engine.docker;

import java.io.IOException;

/** The daemon's no. */
final class DaemonException extends IOException {
  private static final long serialVersionUID = 1L;

  private static final int NOT_FOUND = 404;

  private final int status;

  DaemonException(int status, String message) {
    super(message);
    this.status = status;
  }

  boolean isNotFound() {
    return status == NOT_FOUND;
  }
}
