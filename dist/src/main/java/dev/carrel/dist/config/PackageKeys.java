package dev.carrel.dist.config;

import dev.carrel.control.packages.PackageSettings;

/** The keys of {@link PackageSettings}. */
final class PackageKeys {
  private PackageKeys() {}

  static PackageSettings read(Settings settings) {
    PackageSettings usual = PackageSettings.defaults();
    return new PackageSettings(
        settings.list("package.allow", usual.allow()),
        settings.list("package.deny", usual.deny()),
        settings.duration("package.min-age", usual.minAge()),
        settings.duration("package.timeout", usual.timeout()),
        settings.size("package.cache-size", usual.cache()));
  }
}
