package dev.carrel.egress;

import java.util.List;
import java.util.Set;

/** Sets of rules with a name. Safe for many threads. */
public interface Presets {
  /** Those that a policy may name. */
  Set<String> names();

  /** What the preset allows; nothing when there is none of that name. May take a moment once. */
  List<Rule> rules(String name);
}
