package dev.carrel.control.budget;

import java.util.Locale;

/** What a budget counts. */
public enum Resource {
  /** Nanoseconds inside, seconds for callers. */
  CPU_SECONDS(1_000_000_000L),
  /** Both ways through the proxy. */
  EGRESS_BYTES(1),
  /** Commands and cells. */
  EXECUTIONS(1);

  private final long unit;

  Resource(long unit) {
    this.unit = unit;
  }

  /** How many of what is counted make one that callers see. */
  public long unit() {
    return unit;
  }

  public String wireName() {
    return name().toLowerCase(Locale.ROOT);
  }

  String flag() {
    return "--" + wireName().replace('_', '-');
  }
}
