package dev.carrel.sdk;

import java.util.List;

/**
 * What came of signing files.
 *
 * @param truncated whether there was more than the server looks at
 */
public record SignedArtifacts(
    List<ArtifactInfo> artifacts, List<Skipped> skipped, boolean truncated) {

  /** A path that was not signed. */
  public record Skipped(String path, String reason) {}
}
