package dev.carrel.engine.host;

import dev.carrel.spi.Isolation;
import dev.carrel.spi.Isolation.Measure;
import dev.carrel.spi.Isolation.Strength;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The measures of one machine as they are found, in the order and by the names of all engines. */
public final class Measures {
  /** Convenience rather than protection: its absence needs no excuse. */
  public static final String VOLUME = "volume";

  /** Why a root that was asked to be writable is not read-only. */
  public static final String OVERLAY =
      "overlay on the image, nosuid, nodev; changes are in the sandbox's volume";

  /** What a machine with a writable root lacks because it was asked for. */
  public static final Set<String> OVERLAY_LACKS = Set.of("read-only-root", "no-capabilities");

  private static final List<String> NAMES =
      List.of(
          "user-namespace",
          "uid-range",
          "own-guest-uid",
          "pid-namespace",
          "network-namespace",
          "mount-namespace",
          "ipc-namespace",
          "uts-namespace",
          "cgroup-namespace",
          "memory-limit",
          "pids-limit",
          "cpu-limit",
          "freezer",
          "read-only-root",
          "masked-proc",
          "minimal-dev",
          "no-capabilities",
          "no-new-privileges",
          "seccomp",
          "landlock",
          "workspace-limit",
          "tmpfs-tmp",
          "nofile-limit",
          VOLUME);

  private final Map<String, Measure> found = new LinkedHashMap<>();

  public Measures() {
    NAMES.forEach(name -> found.put(name, new Measure(name, false, "not seen to be applied")));
  }

  /** As it was found before. */
  Measures(List<Measure> before) {
    before.forEach(measure -> found.put(measure.name(), measure));
  }

  /** What a machine has that nothing separates from the host. */
  public static Isolation none(String why) {
    var measures = new Measures();
    NAMES.forEach(name -> measures.missing(name, why));
    return measures.as(Strength.NONE);
  }

  public Measures applied(String name, String detail) {
    return put(name, true, detail);
  }

  public Measures missing(String name, String detail) {
    return put(name, false, detail);
  }

  public Measures put(String name, boolean applied, String detail) {
    found.put(name, new Measure(name, applied, detail));
    return this;
  }

  /** Takes back what was told to be applied, unless it was seen. */
  void doubt(String name, boolean seen) {
    Measure told = found.get(name);
    if (told != null && told.applied() && !seen) {
      missing(name, "not so from outside, though it is told: " + told.detail());
    }
  }

  /** Takes what the guest says of itself: {@code +name detail} or {@code -name reason}. */
  public Measures report(List<String> lines) {
    for (String line : lines) {
      int space = line.indexOf(' ');
      if (space > 1 && (line.startsWith("+") || line.startsWith("-"))) {
        put(line.substring(1, space), line.startsWith("+"), line.substring(space + 1));
      }
    }
    return this;
  }

  public Isolation as(Strength strength) {
    return new Isolation(strength, List.copyOf(found.values()));
  }

  /** What is missing and neither excused nor needless. */
  public static List<Measure> unexcused(Isolation isolation, Set<String> excused) {
    return isolation.measures().stream()
        .filter(m -> !m.applied() && !m.name().equals(VOLUME) && !excused.contains(m.name()))
        .toList();
  }
}
