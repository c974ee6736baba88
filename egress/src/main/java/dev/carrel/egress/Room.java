package dev.carrel.egress;

import java.util.HashMap;
import java.util.Map;

/**
 * The connections that the proxy has, and whose they are. An owner may have as many as are left for
 * all the others, so that whoever comes finds some: alone he has half of them. Safe for many
 * threads.
 */
final class Room {
  private final int most;
  private final Map<String, Integer> owned = new HashMap<>();
  private int open;

  Room(int most) {
    this.most = most;
  }

  /** Takes one for this owner, if he may have another. */
  synchronized boolean enter(String owner) {
    if (owned.getOrDefault(owner, 0) >= most - open) {
      return false;
    }
    open++;
    owned.merge(owner, 1, Integer::sum);
    return true;
  }

  synchronized void leave(String owner) {
    open--;
    owned.computeIfPresent(owner, (_, count) -> count == 1 ? null : count - 1);
  }

  /** Takes one for somebody who has not said who he is. */
  synchronized boolean enterUnknown() {
    if (open >= most) {
      return false;
    }
    open++;
    return true;
  }

  synchronized void leaveUnknown() {
    open--;
  }

  /**
   * One of an unknown is this owner's from now on, to be left as such.
   *
   * @return whether he may have it
   */
  synchronized boolean become(String owner) {
    return owned.merge(owner, 1, Integer::sum) <= most - open + 1;
  }
}
