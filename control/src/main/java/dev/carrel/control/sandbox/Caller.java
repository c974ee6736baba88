package dev.carrel.control.sandbox;

import dev.carrel.spi.SandboxException;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Who asks. Made once at the edge of a transport; what belongs to another tenant does not exist for
 * this caller.
 *
 * @param tenant owns everything that the caller makes
 * @param principal the person or program within the tenant
 * @param permissions what no role brings with it
 */
public record Caller(String tenant, String principal, Role role, Set<Permission> permissions) {
  private static final int MAX_NAME = 128;

  public Caller {
    check("tenant", tenant);
    check("principal", principal);
    permissions = Set.copyOf(permissions);
  }

  public Caller(String tenant, String principal, Role role) {
    this(tenant, principal, role, Set.of());
  }

  public static Caller user(String tenant, String principal) {
    return new Caller(tenant, principal, Role.USER);
  }

  /** The same, who sees what its own tenant has, whatever else it may. */
  public Caller inOwnTenant() {
    return new Caller(tenant, principal, Role.USER, permissions);
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

  /** What must be given to a token by name: an administrator's has none of it by itself. */
  public enum Permission {
    /** To run commands and use files outside of every sandbox. */
    HOST;

    public String wireName() {
      return name().toLowerCase(Locale.ROOT);
    }

    /** All that are named. */
    public static Set<Permission> parse(Iterable<String> names) {
      var found = EnumSet.noneOf(Permission.class);
      for (String name : names) {
        found.add(
            Arrays.stream(values())
                .filter(permission -> permission.wireName().equals(name))
                .findFirst()
                .orElseThrow(
                    () ->
                        SandboxException.invalid(
                            "permissions",
                            "must be some of "
                                + Arrays.stream(values())
                                    .map(Permission::wireName)
                                    .collect(Collectors.joining(", ")))));
      }
      return found;
    }
  }
}
