package dev.carrel.spi;

import java.util.List;

/** What separates a machine from the host, as it was really applied. */
public record Isolation(Strength strength, List<Measure> measures) {
  public Isolation {
    measures = List.copyOf(measures);
  }

  /** How strong the boundary is, weakest first. */
  public enum Strength {
    NONE,
    NAMESPACES,
    GVISOR
  }

  /**
   * One primitive.
   *
   * @param name for example {@code seccomp}
   * @param detail how it was applied, or why it was not
   */
  public record Measure(String name, boolean applied, String detail) {}
}
