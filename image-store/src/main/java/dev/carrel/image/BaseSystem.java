package dev.carrel.image;

import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.Workshop;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** What a base image says of itself before anything of it runs; it may say what it likes. */
final class BaseSystem {
  private static final long MAX_FILE = 1 << 20;
  private static final int MAX_ENTRIES = 1000;

  private BaseSystem() {}

  /**
   * Its own package sources.
   *
   * @param folder empty; gets copies of the files that matter
   */
  static AptSources sources(Workshop.Bench bench, String image, Path folder) throws IOException {
    try (InputStream release = required(bench, "/usr/lib/os-release", image);
        InputStream apt = required(bench, "/etc/apt", image)) {
      copy(release, folder);
      copy(apt, folder);
      return AptSources.of(folder);
    } catch (IOException e) {
      throw unfit(image, String.valueOf(e.getMessage()));
    }
  }

  private static InputStream required(Workshop.Bench bench, String path, String image)
      throws IOException {
    Optional<InputStream> found = bench.read(path);
    return found.orElseThrow(() -> unfit(image, "it has no " + path));
  }

  private static SandboxException unfit(String image, String why) {
    return new SandboxException(
        ErrorCode.IMAGE_SOURCE_FAILED,
        "the image %s is no Debian or Ubuntu to build on: %s; name another with image.build-base"
            .formatted(image, why));
  }

  /** Plain files only: a link could lead out of the folder. */
  private static void copy(InputStream tar, Path folder) throws IOException {
    var reader = new TarReader(tar, BadImage::because);
    byte[] buffer = new byte[8192];
    int entries = 0;
    for (TarEntry entry = reader.next(); entry != null; entry = reader.next()) {
      if (++entries > MAX_ENTRIES || entry.size() > MAX_FILE) {
        throw BadImage.because("its package sources are too large");
      }
      List<String> names = EntryName.parts(entry.name(), BadImage::because);
      if (entry.type() != TarEntry.Type.FILE || names.isEmpty()) {
        continue;
      }
      Path file = folder.resolve(String.join("/", names));
      Files.createDirectories(file.resolveSibling("."));
      try (OutputStream out = Files.newOutputStream(file)) {
        for (int count = reader.read(buffer); count >= 0; count = reader.read(buffer)) {
          out.write(buffer, 0, count);
        }
      }
    }
  }
}
