package dev.carrel.server.auth;

import java.util.Optional;

/** What an {@code Authorization} header holds for this server. */
public final class Bearer {
  private static final String SCHEME = "Bearer ";

  private Bearer() {}

  /** The token; empty when the header is for another scheme. */
  public static Optional<String> token(String header) {
    return header.regionMatches(true, 0, SCHEME, 0, SCHEME.length())
        ? Optional.of(header.substring(SCHEME.length()).strip())
        : Optional.empty();
  }
}
