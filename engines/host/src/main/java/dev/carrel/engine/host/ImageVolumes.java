package dev.carrel.engine.host;

import dev.carrel.spi.EngineSettings;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.VolumeId;
import dev.carrel.spi.Volumes;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * The same image files that the engine {@code native} keeps: an ext4 each, locked as long as a loop
 * device has it.
 */
public final class ImageVolumes implements Volumes {
  private static final Pattern NAME = Pattern.compile("(vo[a-z2-7]{14})\\.img");

  private final EngineSettings settings;
  private final Path directory;
  private final Copier copier;

  public ImageVolumes(EngineSettings settings, Copier copier) {
    this.settings = settings;
    this.directory = settings.volumeDirectory().toAbsolutePath().normalize();
    this.copier = copier;
  }

  /** Copies one at one moment of whoever has it. */
  public interface Copier {
    void copy(VolumeId from, VolumeId to) throws IOException;
  }

  /** The file of a volume. */
  public static Path image(Path directory, VolumeId id) {
    return directory.resolve(id.value() + ".img");
  }

  @Override
  public void copy(VolumeId from, VolumeId to) {
    try {
      copier.copy(from, to);
    } catch (IOException e) {
      throw failed("copy volume " + from, e);
    }
  }

  @Override
  public void remove(VolumeId id) {
    try {
      Files.deleteIfExists(image(id));
    } catch (IOException e) {
      throw failed("remove volume " + id, e);
    }
  }

  @Override
  public List<VolumeId> list() {
    if (!Files.isDirectory(directory)) {
      return List.of();
    }
    try (Stream<Path> files = Files.list(directory)) {
      return files
          .map(path -> NAME.matcher(String.valueOf(path.getFileName())))
          .filter(Matcher::matches)
          .map(matcher -> new VolumeId(matcher.group(1)))
          .toList();
    } catch (IOException e) {
      throw failed("list volumes", e);
    }
  }

  @Override
  public long usedBytes(VolumeId id) {
    if (!Files.isRegularFile(image(id))) {
      throw new SandboxException(ErrorCode.VOLUME_NOT_FOUND, "no volume " + id);
    }
    try {
      return HostTree.size(image(id));
    } catch (IOException e) {
      throw failed("measure volume " + id, e);
    }
  }

  @Override
  public <T> T readChanges(VolumeId id, ChangesReader<T> reader)
      throws IOException, InterruptedException {
    // What lends one makes what is not there.
    usedBytes(id);
    try (VolumeLoan loan = VolumeLoan.of(settings, id)) {
      return reader.read(loan.upper());
    }
  }

  private Path image(VolumeId id) {
    return image(directory, id);
  }

  private static SandboxException failed(String doing, IOException e) {
    return new SandboxException(ErrorCode.ENGINE_FAILED, doing + ": " + e.getMessage(), e);
  }
}
