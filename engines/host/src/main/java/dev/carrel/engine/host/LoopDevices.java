package dev.carrel.engine.host;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;

/** The loop devices of this host. */
public final class LoopDevices {
  private LoopDevices() {}

  /** Whether one has this file; that ends a little after the last process that saw its mount. */
  public static boolean hold(Path image) {
    try (Stream<Path> devices = Files.list(Path.of("/sys/block"))) {
      return devices
          .filter(device -> String.valueOf(device.getFileName()).startsWith("loop"))
          .anyMatch(device -> isBackedBy(device.resolve("loop/backing_file"), image.toString()));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static boolean isBackedBy(Path file, String image) {
    try {
      return Files.readString(file).strip().equals(image);
    } catch (IOException e) {
      return false; // free, or let go while we looked
    }
  }
}
