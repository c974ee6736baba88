package dev.carrel.dist.config;

import dev.carrel.control.artifact.ArtifactSettings;

/** The keys of {@link ArtifactSettings}. */
final class ArtifactKeys {
  private static final int MANY = 10_000;

  private ArtifactKeys() {}

  static ArtifactSettings read(Settings settings) {
    ArtifactSettings usual = ArtifactSettings.defaults();
    return new ArtifactSettings(
        settings.size("artifact.max-file", usual.maxFile()),
        settings.size("artifact.max-total", usual.maxTotal()),
        settings.number("artifact.max-files", usual.maxFiles(), 1, MANY),
        settings.duration("artifact.max-time", usual.maxTime()));
  }
}
