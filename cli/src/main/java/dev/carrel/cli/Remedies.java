package dev.carrel.cli;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Set;

/** What to do about measures of {@code native} that an ordinary user cannot have yet. */
final class Remedies {
  private static final Set<String> IDS = Set.of("uid-range", "own-guest-uid");
  private static final Set<String> GROUPS =
      Set.of("memory-limit", "pids-limit", "cpu-limit", "freezer");

  private Remedies() {}

  /**
   * In the order in which they help.
   *
   * @param missing names of measures that cannot be applied
   * @param unified whether control groups are those of version 2
   */
  static List<String> of(Collection<String> missing, String user, boolean unified) {
    var remedies = new ArrayList<String>();
    if (missing.stream().anyMatch(IDS::contains)) {
      remedies.add(
          "ids for sandboxes: install uidmap (newuidmap), then sudo usermod --add-subuids"
              + " 100000-165535 --add-subgids 100000-165535 "
              + user);
    }
    if (missing.stream().anyMatch(GROUPS::contains)) {
      remedies.add(
          unified
              ? "limits: start it in a control group that is yours: systemd-run --user --scope -p"
                  + " Delegate=yes ./carrel serve"
              : "limits: control groups are those of version 1 here, which only root may make: boot"
                  + " with version 2 (systemd.unified_cgroup_hierarchy=1), or run as root");
    }
    if (missing.contains("volume")) {
      remedies.add(
          "files that outlive a stop, snapshots and forks: only as root; without, files are in"
              + " memory");
    }
    if (!remedies.isEmpty()) {
      remedies.add("all of it: run the server as root; code in sandboxes is not root then either");
    }
    return remedies;
  }
}
