package dev.carrel.control.sandbox;

import dev.carrel.spi.SandboxException;

/**
 * Who asks. Made once at the edge of a transport; what belongs to another tenant does not exist for
 * this caller.
 *
 * @param tenant owns everything that the caller makes
 * @param principal the person or program within the tenant
 */
public record Caller(String tenant, String principal, Role role) {
  private static final int MAX_NAME = 128;

  public Caller {
    check("tenant", tenant);
    check("principal", principal);
  }

  public static Caller user(String tenant, String principal) {
    return new Caller(tenant, principal, Role.USER);
  }

  /** The principal, with its tenant where that is not the one whose things are meant. */
  public String nameFor(String owner) {
    return owner.equals(tenant) ? principal : tenant + "/" + principal;
  }

  private static void check(String field, String value) {
    if (value.isBlank() || value.length() > MAX_NAME) {
      throw SandboxException.invalid(field, "must have 1 to " + MAX_NAME + " characters");
    }
  }

  /** What a caller may do beyond its own tenant. */
  public enum Role {
    USER,
    ADMIN
  }
}
