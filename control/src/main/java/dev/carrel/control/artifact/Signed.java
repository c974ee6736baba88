package dev.carrel.control.artifact;

import java.util.List;

/**
 * What came of looking for artifacts.
 *
 * @param skipped what was named or found, and not signed
 * @param truncated whether there was more than may be looked at
 */
public record Signed(List<Artifact> artifacts, List<Skipped> skipped, boolean truncated) {
  public static final Signed NOTHING = new Signed(List.of(), List.of(), false);

  public Signed {
    artifacts = List.copyOf(artifacts);
    skipped = List.copyOf(skipped);
  }

  /** A path, and why it is no artifact. */
  public record Skipped(String path, String reason) {}
}
