package dev.carrel.egress;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;

/**
 * What one sandbox may reach. Deny goes over allow; what no rule allows is denied.
 *
 * @param presets names of sets of rules that the server knows, as {@code packages}
 * @param maxBytes that may pass in all, both ways; 0: no limit
 * @param bytesPerSecond both ways; 0: no limit
 */
public record Policy(
    Mode mode,
    List<Rule> allow,
    List<HostPattern> deny,
    Set<String> presets,
    long maxBytes,
    long bytesPerSecond) {
  public static final Policy NOTHING =
      new Policy(Mode.ENFORCE, List.of(), List.of(), Set.of(), 0, 0);

  /** Whether the rules hold. */
  public enum Mode {
    ENFORCE,
    /** What no rule allows passes too, and is noted; the deny list and addresses still count. */
    OBSERVE;

    public String wireName() {
      return name().toLowerCase(Locale.ROOT);
    }

    public static Mode parse(String text) {
      return switch (text) {
        case "enforce" -> ENFORCE;
        case "observe" -> OBSERVE;
        default -> throw new IllegalArgumentException("must be enforce or observe");
      };
    }
  }

  public Policy {
    allow = List.copyOf(allow);
    deny = List.copyOf(deny);
    presets = Set.copyOf(presets);
    if (maxBytes < 0 || bytesPerSecond < 0) {
      throw new IllegalArgumentException("a budget is not negative");
    }
  }

  /** Whether anything can get out at all. */
  public boolean opens() {
    return mode == Mode.OBSERVE || !allow.isEmpty() || !presets.isEmpty();
  }

  public Policy withPresets(Set<String> newPresets) {
    return new Policy(mode, allow, deny, newPresets, maxBytes, bytesPerSecond);
  }

  public Policy withAllow(List<Rule> newAllow) {
    return new Policy(mode, newAllow, deny, presets, maxBytes, bytesPerSecond);
  }

  public Policy withMode(Mode newMode) {
    return new Policy(newMode, allow, deny, presets, maxBytes, bytesPerSecond);
  }

  public Policy withDeny(List<HostPattern> newDeny) {
    return new Policy(mode, allow, newDeny, presets, maxBytes, bytesPerSecond);
  }

  public Policy withBudget(long newMaxBytes, long newBytesPerSecond) {
    return new Policy(mode, allow, deny, presets, newMaxBytes, newBytesPerSecond);
  }

  /** One line for each thing it says; nothing when it is {@link #NOTHING}. */
  public String text() {
    var lines = new ArrayList<String>();
    if (mode != Mode.ENFORCE) {
      lines.add("mode " + mode.wireName());
    }
    new TreeSet<>(presets).forEach(preset -> lines.add("preset " + preset));
    allow.forEach(rule -> lines.add("allow " + rule));
    deny.forEach(pattern -> lines.add("deny " + pattern));
    if (maxBytes > 0) {
      lines.add("max-bytes " + maxBytes);
    }
    if (bytesPerSecond > 0) {
      lines.add("bytes-per-second " + bytesPerSecond);
    }
    return String.join("\n", lines);
  }

  /** Reads what {@link #text} wrote. */
  public static Policy parse(String text) {
    Mode mode = Mode.ENFORCE;
    var allow = new ArrayList<Rule>();
    var deny = new ArrayList<HostPattern>();
    var presets = new TreeSet<String>();
    long maxBytes = 0;
    long bytesPerSecond = 0;
    for (String line : text.lines().toList()) {
      int space = line.indexOf(' ');
      String value = line.substring(space + 1);
      switch (line.substring(0, Math.max(space, 0))) {
        case "mode" -> mode = Mode.parse(value);
        case "preset" -> presets.add(value);
        case "allow" -> allow.add(Rule.parse(value));
        case "deny" -> deny.add(HostPattern.parse(value));
        case "max-bytes" -> maxBytes = Long.parseLong(value);
        case "bytes-per-second" -> bytesPerSecond = Long.parseLong(value);
        default -> throw new IllegalArgumentException("not a line of a policy: " + line);
      }
    }
    return new Policy(mode, allow, deny, presets, maxBytes, bytesPerSecond);
  }
}
