package dev.carrel.server.auth;

import dev.carrel.control.sandbox.Caller;
import java.util.Optional;

/** Tells whom a bearer token stands for. Safe for many threads; never throws for a bad token. */
@FunctionalInterface
public interface Authenticator {
  /**
   * Empty when the token is not one of ours. Takes as long for a wrong token as for a right one.
   */
  Optional<Caller> authenticate(String token);
}
