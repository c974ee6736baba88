package dev.carrel.control.sandbox;

import dev.carrel.spi.SandboxException;
import dev.carrel.spi.Text;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/** Where a sandbox is in its life. {@link Transitions} says how it gets from one to another. */
public enum SandboxStatus {
  /** Its machine is being started, for the first time or again. */
  CREATING,
  RUNNING,
  /** Every process is held where it was, its memory kept; the next call lets them go on. */
  PAUSED,
  /** Ended in order. With a volume it can be started again; listed until deleted or forgotten. */
  STOPPED,
  /** Could not start, or its machine died; the reason is in {@link Sandbox#failure()}. */
  FAILED,
  /** Being removed: no caller sees it any more, a restarted server finishes the work. */
  DESTROYED;

  public String wireName() {
    return name().toLowerCase(Locale.ROOT);
  }

  /** Whether it has a machine, or is to have one in a moment. */
  public boolean live() {
    return switch (this) {
      case CREATING, RUNNING, PAUSED -> true;
      case STOPPED, FAILED, DESTROYED -> false;
    };
  }

  /** The statuses that a caller can see. */
  public static List<SandboxStatus> visible() {
    return List.of(CREATING, RUNNING, PAUSED, STOPPED, FAILED);
  }

  public static SandboxStatus parse(String name) {
    return Arrays.stream(values())
        .filter(status -> status.wireName().equals(name))
        .findFirst()
        .orElseThrow(
            () ->
                SandboxException.invalid(
                    "status",
                    "unknown status '"
                        + Text.printable(name, 32)
                        + "'; one of "
                        + visible().stream().map(SandboxStatus::wireName).toList()));
  }
}
