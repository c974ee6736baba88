package dev.carrel.control.audit;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.EnumSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;

/**
 * The last checkpoint, outside the database: a database that was set back to an earlier state does
 * not reach as far as this says. For one writing thread.
 */
final class CheckpointFile {
  private final Path file;

  CheckpointFile(Path file) {
    this.file = file;
  }

  void write(Checkpoint checkpoint) {
    String text =
        "%d\n%d\n%s\n%s\n"
            .formatted(
                checkpoint.sequence(),
                checkpoint.atMicros(),
                HexFormat.of().formatHex(checkpoint.hash()),
                HexFormat.of().formatHex(checkpoint.signature()));
    Path fresh = file.resolveSibling(file.getFileName() + ".new");
    try {
      Files.deleteIfExists(fresh);
      try (FileChannel channel =
          FileChannel.open(
              fresh,
              EnumSet.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE),
              PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")))) {
        channel.write(StandardCharsets.US_ASCII.encode(text));
        channel.force(true);
      }
      Files.move(fresh, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    } catch (IOException e) {
      throw new UncheckedIOException("cannot write " + file, e);
    }
  }

  /** Empty when there is none, or what is there is not of this key. */
  Optional<Checkpoint> read(SigningKey key) {
    List<String> lines;
    try {
      if (!Files.exists(file)) {
        return Optional.empty();
      }
      lines = Files.readAllLines(file, StandardCharsets.US_ASCII);
      var found =
          new Checkpoint(
              Checkpoint.Kind.HEAD,
              Long.parseLong(lines.get(0)),
              Long.parseLong(lines.get(1)),
              HexFormat.of().parseHex(lines.get(2)),
              HexFormat.of().parseHex(lines.get(3)));
      return Optional.of(found).filter(checkpoint -> checkpoint.genuine(key));
    } catch (IOException | IllegalArgumentException | IndexOutOfBoundsException unreadable) {
      return Optional.empty();
    }
  }

  boolean exists() {
    return Files.exists(file);
  }
}
