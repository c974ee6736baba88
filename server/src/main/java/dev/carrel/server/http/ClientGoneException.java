package dev.carrel.server.http;

import java.io.IOException;

/** The client went away, or took too long, before the end of its request. */
final class ClientGoneException extends IOException {
  private static final long serialVersionUID = 1L;

  ClientGoneException(Throwable cause) {
    super("the client went away before the end of its request", cause);
  }
}
