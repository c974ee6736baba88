package dev.carrel.engine.process;

import dev.carrel.engine.host.HostTree;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.VolumeId;
import dev.carrel.spi.Volumes;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * A plain folder per volume, without a size limit. Nothing here can make a machine stand still, so
 * a copy of a volume in use may have files of different moments.
 */
final class ProcessVolumes implements Volumes {
  static final FileAttribute<Set<PosixFilePermission>> OURS =
      PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));

  /** Other engines may keep theirs beside ours, as files. */
  private static final Pattern NAME = Pattern.compile("vo[a-z2-7]{14}");

  private final Path directory;

  ProcessVolumes(Path directory) {
    this.directory = directory;
  }

  /** The volume's folder, made if need be. */
  Path open(VolumeId id) throws IOException {
    return Files.createDirectories(folder(id), OURS);
  }

  @Override
  public void copy(VolumeId from, VolumeId to) {
    if (!Files.isDirectory(folder(from))) {
      throw new SandboxException(ErrorCode.VOLUME_NOT_FOUND, "no volume " + from);
    }
    // Not a name that list() knows: a copy that is cut short is no volume.
    Path unfinished = directory.resolve("copy-" + to);
    try {
      HostTree.remove(unfinished);
      try {
        HostTree.copy(folder(from), unfinished);
        if (Files.exists(folder(to))) {
          throw new SandboxException(ErrorCode.WRONG_STATE, "volume " + to + " exists already");
        }
        Files.move(unfinished, folder(to), StandardCopyOption.ATOMIC_MOVE);
      } finally {
        HostTree.remove(unfinished);
      }
    } catch (IOException e) {
      throw failed("copy volume " + from, e);
    }
  }

  @Override
  public void remove(VolumeId id) {
    try {
      HostTree.remove(folder(id));
    } catch (IOException e) {
      throw failed("remove volume " + id, e);
    }
  }

  @Override
  public List<VolumeId> list() {
    if (!Files.isDirectory(directory)) {
      return List.of();
    }
    try (Stream<Path> folders = Files.list(directory)) {
      return folders
          .filter(Files::isDirectory)
          .map(path -> String.valueOf(path.getFileName()))
          .filter(name -> NAME.matcher(name).matches())
          .map(VolumeId::new)
          .toList();
    } catch (IOException e) {
      throw failed("list volumes", e);
    }
  }

  @Override
  public long usedBytes(VolumeId id) {
    if (!Files.isDirectory(folder(id))) {
      throw new SandboxException(ErrorCode.VOLUME_NOT_FOUND, "no volume " + id);
    }
    try {
      return HostTree.size(folder(id));
    } catch (IOException e) {
      throw failed("measure volume " + id, e);
    }
  }

  private Path folder(VolumeId id) {
    return directory.resolve(id.value());
  }

  private static SandboxException failed(String doing, IOException e) {
    return new SandboxException(ErrorCode.ENGINE_FAILED, doing + ": " + e.getMessage(), e);
  }
}
