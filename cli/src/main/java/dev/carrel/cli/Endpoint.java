package dev.carrel.cli;

import java.net.URI;

/** A server and the token to use there. */
public record Endpoint(URI address, String token) {
  /** Without the token: an endpoint may be printed. */
  @Override
  public String toString() {
    return address.toString();
  }
}
