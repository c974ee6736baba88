package dev.carrel.image;

import dev.carrel.spi.SandboxException;
import dev.carrel.spi.Text;
import java.util.Comparator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * One version of a package, written as apt writes it: {@code adduser:all=3.134}.
 *
 * @param architecture {@code all} where it is the same everywhere
 */
public record LockedPackage(String name, String architecture, String version)
    implements Comparable<LockedPackage> {
  // What Debian's policy allows; nothing of it means anything to a shell, to apt or to a file.
  private static final Pattern FORM =
      Pattern.compile(
          "([a-z0-9][a-z0-9+.-]{0,199}):([a-z0-9-]{1,40})=([A-Za-z0-9][A-Za-z0-9.+:~-]{0,199})");

  public LockedPackage {
    if (!FORM.matcher(written(name, architecture, version)).matches()) {
      throw bad(written(name, architecture, version));
    }
  }

  public static LockedPackage parse(String text) {
    Matcher parts = FORM.matcher(text);
    if (!parts.matches()) {
      throw bad(text);
    }
    return new LockedPackage(parts.group(1), parts.group(2), parts.group(3));
  }

  private static SandboxException bad(String text) {
    return SandboxException.invalid(
        "lock.packages",
        "must have packages such as adduser:all=3.134, and has " + Text.printable(text, 80));
  }

  private static String written(String name, String architecture, String version) {
    return name + ":" + architecture + "=" + version;
  }

  @Override
  public int compareTo(LockedPackage other) {
    return Comparator.comparing(LockedPackage::name)
        .thenComparing(LockedPackage::architecture)
        .thenComparing(LockedPackage::version)
        .compare(this, other);
  }

  @Override
  public String toString() {
    return written(name, architecture, version);
  }
}
