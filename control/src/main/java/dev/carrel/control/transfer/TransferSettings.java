package dev.carrel.control.transfer;

import dev.carrel.spi.DataSize;
import dev.carrel.spi.SandboxException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/**
 * What may go in and out, and how much of it.
 *
 * @param hostFolders folders of this host that callers may import from; none unless the operator
 *     says so
 * @param maxSize of what one import brings, unpacked
 * @param maxFiles of one import
 * @param maxRatio how much larger than itself an archive's files may be
 * @param maxFetch of what is fetched from an address
 * @param linkTime how long a link to an exported file is good, unless the caller says
 * @param uploadTime how long an upload in parts may take
 */
public record TransferSettings(
    List<Path> hostFolders,
    DataSize maxSize,
    int maxFiles,
    int maxRatio,
    DataSize maxFetch,
    Duration linkTime,
    Duration uploadTime) {
  static final Duration MAX_LINK_TIME = Duration.ofDays(7);

  public TransferSettings {
    hostFolders = List.copyOf(hostFolders);
    if (linkTime.compareTo(Duration.ofSeconds(1)) < 0 || linkTime.compareTo(MAX_LINK_TIME) > 0) {
      throw SandboxException.invalid("link-time", "must be between 1s and 7d");
    }
  }

  public static TransferSettings defaults() {
    return new TransferSettings(
        List.of(),
        DataSize.ofMebibytes(1024),
        10_000,
        100,
        DataSize.ofMebibytes(64),
        Duration.ofHours(1),
        Duration.ofDays(1));
  }

  public TransferSettings withHostFolders(List<Path> newHostFolders) {
    return new TransferSettings(
        newHostFolders, maxSize, maxFiles, maxRatio, maxFetch, linkTime, uploadTime);
  }

  public TransferSettings withMost(DataSize newMaxSize, int newMaxFiles, int newMaxRatio) {
    return new TransferSettings(
        hostFolders, newMaxSize, newMaxFiles, newMaxRatio, maxFetch, linkTime, uploadTime);
  }
}
