package dev.carrel.control.packages;

import dev.carrel.spi.DataSize;
import dev.carrel.spi.SandboxException;
import java.time.Duration;
import java.util.List;

/**
 * Which packages may be asked for.
 *
 * @param allow names, or beginnings of names with a star; none: all
 * @param deny wins over {@code allow}
 * @param minAge how long a release must have been out; zero: any
 * @param timeout of one install
 * @param cache how much room files of packages have on the server; none: they are not kept
 */
public record PackageSettings(
    List<String> allow, List<String> deny, Duration minAge, Duration timeout, DataSize cache) {
  public PackageSettings {
    allow = List.copyOf(allow);
    deny = List.copyOf(deny);
  }

  public static PackageSettings defaults() {
    return new PackageSettings(
        List.of(), List.of(), Duration.ZERO, Duration.ofMinutes(10), DataSize.ofMebibytes(2048));
  }

  /**
   * Says why not, if this one may not be installed.
   *
   * @param asked whether somebody asked for it, or something else needs it
   */
  void require(PackageClient client, String wanted, boolean asked) {
    String name = client.canonical(wanted);
    String which = asked ? "'" + name + "'" : "'" + name + "', which is needed,";
    for (String pattern : deny) {
      if (matches(client, pattern, name)) {
        throw SandboxException.invalid(
            "packages", which + " is refused by package.deny: " + pattern);
      }
    }
    if (!allow.isEmpty() && allow.stream().noneMatch(one -> matches(client, one, name))) {
      throw SandboxException.invalid(
              "packages", which + " is not among those that package.allow names")
          .withHint("the operator of the server can add it to package.allow");
    }
  }

  private static boolean matches(PackageClient client, String pattern, String name) {
    if (!pattern.endsWith("*")) {
      return name.equals(client.canonical(pattern));
    }
    return name.startsWith(client.canonical(pattern.substring(0, pattern.length() - 1)));
  }
}
