package dev.carrel.image;

import dev.carrel.spi.SandboxException;
import dev.carrel.spi.Text;
import java.util.Locale;

/**
 * What machine an image is for, in the words of registries.
 *
 * @param variant empty where there is none
 */
public record Platform(String os, String architecture, String variant) {

  /** The one that this host runs. */
  public static Platform host() {
    String name = System.getProperty("os.arch", "").toLowerCase(Locale.ROOT);
    return switch (name) {
      case "amd64", "x86_64" -> new Platform("linux", "amd64", "");
      case "aarch64", "arm64" -> new Platform("linux", "arm64", "v8");
      default -> new Platform("linux", name, "");
    };
  }

  /** Reads {@code linux/arm64} or {@code linux/arm/v7}. */
  public static Platform parse(String text) {
    String[] parts = text.split("/", -1);
    if (parts.length < 2 || parts.length > 3) {
      throw SandboxException.invalid(
          "platform", "must be such as linux/arm64, and is " + Text.printable(text, 40));
    }
    return new Platform(parts[0], parts[1], parts.length == 3 ? parts[2] : "");
  }

  boolean serves(Platform wanted) {
    return os.equals(wanted.os)
        && architecture.equals(wanted.architecture)
        && (variant.isEmpty() || wanted.variant.isEmpty() || variant.equals(wanted.variant));
  }

  @Override
  public String toString() {
    return os + "/" + architecture + (variant.isEmpty() ? "" : "/" + variant);
  }
}
