package dev.carrel.engine.host;

import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Published ways out of a runtime, by the first version that closes them. A distribution may have
 * closed one without changing the number, so this warns and refuses nothing.
 */
public final class KnownFlaws {
  private static final Pattern NUMBERS = Pattern.compile("(\\d+)\\.(\\d+)(?:\\.(\\d+))?");

  private record Flaw(String program, List<Integer> mended, String what) {}

  private static final List<Flaw> FLAWS =
      List.of(
          new Flaw(
              "runc",
              List.of(1, 1, 12),
              "CVE-2024-21626 (a descriptor of the host leaks into the container)"),
          new Flaw(
              "runc",
              List.of(1, 2, 8),
              "CVE-2025-31133, CVE-2025-52565 and CVE-2025-52881 (masked paths and /proc writes"
                  + " redirected by races)"),
          new Flaw(
              "crun",
              List.of(1, 4, 4),
              "CVE-2022-27650 (inheritable capabilities that are not empty)"),
          new Flaw(
              "crun",
              List.of(1, 20, 0),
              "CVE-2025-24965 (files of the host written through the krun handler, which is not"
                  + " used here)"));

  private KnownFlaws() {}

  /**
   * @param program its name, such as {@code runc}
   * @param version its own words, with a number in them
   */
  public static List<String> of(String program, String version) {
    Matcher numbers = NUMBERS.matcher(version);
    if (!numbers.find()) {
      return List.of();
    }
    String patch = numbers.group(3);
    List<Integer> found =
        List.of(
            Integer.parseInt(numbers.group(1)),
            Integer.parseInt(numbers.group(2)),
            patch == null ? 0 : Integer.parseInt(patch));
    return FLAWS.stream()
        .filter(flaw -> flaw.program().equals(program) && isBefore(found, flaw.mended()))
        .map(
            flaw ->
                "%s is older than %s, which mends %s; see that your distribution has mended it"
                    .formatted(version, dotted(flaw.mended()), flaw.what()))
        .toList();
  }

  private static boolean isBefore(List<Integer> version, List<Integer> other) {
    for (int i = 0; i < version.size(); i++) {
      int order = version.get(i).compareTo(other.get(i));
      if (order != 0) {
        return order < 0;
      }
    }
    return false;
  }

  private static String dotted(List<Integer> version) {
    return String.join(".", version.stream().map(String::valueOf).toList());
  }
}
