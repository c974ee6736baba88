package dev.carrel.image;

import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** What roots were built of, each in a file named by the root's digest. Safe for many threads. */
final class Locks {
  private static final JsonMapper JSON =
      JsonMapper.builder().propertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE).build();
  private static final String ENDING = ".json";

  private final Path folder;
  private final Path unfinished;

  Locks(Path folder, Path unfinished) {
    this.folder = folder;
    this.unfinished = unfinished;
  }

  void put(Digest root, ImageLock lock) throws IOException {
    Path file = Files.createTempFile(unfinished, "lock", ENDING);
    try {
      byte[] bytes = JSON.writeValueAsBytes(Written.of(lock));
      Files.write(file, bytes, StandardOpenOption.WRITE, StandardOpenOption.SYNC);
      Files.move(file, file(root), StandardCopyOption.ATOMIC_MOVE);
    } finally {
      Files.deleteIfExists(file);
    }
  }

  Optional<ImageLock> find(Digest root) throws IOException {
    try {
      return Optional.of(JSON.readValue(Files.readAllBytes(file(root)), Written.class).lock());
    } catch (NoSuchFileException e) {
      return Optional.empty();
    }
  }

  /** Removes those of all other roots. */
  void keep(Set<Digest> roots) throws IOException {
    Set<Path> kept = Set.copyOf(roots.stream().map(this::file).toList());
    List<Path> all;
    try (Stream<Path> files = Files.list(folder)) {
      all = files.toList();
    }
    for (Path file : all) {
      if (!kept.contains(file)) {
        Files.deleteIfExists(file);
      }
    }
  }

  private Path file(Digest root) {
    return folder.resolve(root.hex() + ENDING);
  }

  private record Written(
      String image,
      String release,
      String architecture,
      long sourceDateEpoch,
      @Nullable String snapshot,
      @Nullable String digest,
      List<String> packages) {
    static Written of(ImageLock lock) {
      return new Written(
          lock.image(),
          lock.release(),
          lock.architecture(),
          lock.sourceDateEpoch(),
          lock.snapshot() == null ? null : lock.snapshot().address(),
          lock.digest() == null ? null : lock.digest().toString(),
          lock.packages().stream().map(LockedPackage::toString).toList());
    }

    ImageLock lock() {
      return new ImageLock(
          image,
          release,
          architecture,
          sourceDateEpoch,
          snapshot == null ? null : new Snapshot(snapshot),
          digest == null ? null : Digest.parse(digest),
          packages.stream().map(LockedPackage::parse).toList());
    }
  }
}
