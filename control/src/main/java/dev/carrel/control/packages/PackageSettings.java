package dev.carrel.control.packages;

import dev.carrel.spi.SandboxException;
import java.time.Duration;
import java.util.List;
import java.util.Locale;

/**
 * Which packages may be asked for.
 *
 * @param allow names, or beginnings of names with a star; none: all
 * @param deny wins over {@code allow}
 * @param minAge how long a release must have been out; zero: any
 * @param timeout of one install
 */
public record PackageSettings(
    List<String> allow, List<String> deny, Duration minAge, Duration timeout) {
  public PackageSettings {
    allow = List.copyOf(allow);
    deny = List.copyOf(deny);
  }

  public static PackageSettings defaults() {
    return new PackageSettings(List.of(), List.of(), Duration.ZERO, Duration.ofMinutes(10));
  }

  /** Says why not, if this one may not be asked for. */
  void require(Requirement wanted) {
    String name = wanted.name().toLowerCase(Locale.ROOT);
    for (String pattern : deny) {
      if (matches(pattern, name)) {
        throw SandboxException.invalid(
            "packages", "'" + name + "' is refused by package.deny: " + pattern);
      }
    }
    if (!allow.isEmpty() && allow.stream().noneMatch(pattern -> matches(pattern, name))) {
      throw SandboxException.invalid(
              "packages", "'" + name + "' is not among those that package.allow names")
          .withHint("the operator of the server can add it to package.allow");
    }
  }

  private static boolean matches(String pattern, String name) {
    String lower = pattern.toLowerCase(Locale.ROOT);
    return lower.endsWith("*")
        ? name.startsWith(lower.substring(0, lower.length() - 1))
        : name.equals(lower);
  }
}
