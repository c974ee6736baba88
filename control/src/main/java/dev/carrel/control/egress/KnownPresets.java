package dev.carrel.control.egress;

import dev.carrel.egress.PackageSources;
import dev.carrel.egress.Presets;
import dev.carrel.egress.Rule;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

/** The presets that this server has. */
final class KnownPresets implements Presets {
  static final String PACKAGES = "packages";
  static final String GITHUB = "github";

  private static final List<Rule> GITHUB_RULES =
      Stream.of(
              "github.com",
              "api.github.com",
              "codeload.github.com",
              "raw.githubusercontent.com",
              "objects.githubusercontent.com",
              "release-assets.githubusercontent.com")
          .map(Rule::parse)
          .toList();

  private final PackageSources packages;

  KnownPresets(PackageSources packages) {
    this.packages = packages;
  }

  @Override
  public Set<String> names() {
    return Set.of(PACKAGES, GITHUB);
  }

  @Override
  public List<Rule> rules(String name) {
    return switch (name) {
      case PACKAGES -> packages.rules();
      case GITHUB -> GITHUB_RULES;
      default -> List.of();
    };
  }
}
