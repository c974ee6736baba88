package dev.carrel.dist.config;

import dev.carrel.control.image.ImageSettings;
import dev.carrel.image.ImageLimits;
import dev.carrel.image.Reference;
import dev.carrel.image.Snapshot;
import dev.carrel.spi.DataSize;
import dev.carrel.spi.SandboxException;
import org.jspecify.annotations.Nullable;

/** The keys of {@link ImageSettings}. */
final class ImageKeys {
  private ImageKeys() {}

  static ImageSettings read(Settings settings) {
    ImageSettings usual = ImageSettings.defaults();
    ImageLimits limits = usual.limits();
    return new ImageSettings(
        new ImageLimits(
            DataSize.ofMebibytes(
                settings.number(
                    "image.max-size-mb", (int) limits.maxSize().mebibytes(), 1, Integer.MAX_VALUE)),
            settings.number("image.max-files", limits.maxFiles(), 1, Integer.MAX_VALUE),
            settings.number("image.max-ratio", limits.maxRatio(), 2, 1 << 20)),
        settings.path("image.auth-file").orElse(null),
        settings.number("image.max-jobs", usual.maxJobs(), 1, 64),
        snapshot(settings.text("image.snapshot", "")),
        settings.choice("image.builder", usual.builder()),
        reference(settings.text("image.build-base", "")));
  }

  private static @Nullable Reference reference(String name) {
    try {
      return name.isEmpty() ? null : Reference.parse(name);
    } catch (SandboxException e) {
      throw new ConfigurationException("image.build-base: " + e.message());
    }
  }

  private static @Nullable Snapshot snapshot(String address) {
    try {
      return address.isEmpty() ? null : new Snapshot(address);
    } catch (SandboxException e) {
      throw new ConfigurationException("image." + e.message());
    }
  }
}
