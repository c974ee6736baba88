package dev.carrel.dist;

import dev.carrel.dist.config.ConfigurationException;
import dev.carrel.dist.config.StorageConfig;
import dev.carrel.server.auth.TokenFile;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.channels.FileChannel;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;

/**
 * The server's folders on disk, held by one server at a time: what is found in them without an
 * owner is nobody's, and may be removed. Only their owner can read them.
 *
 * <p>The data directory holds {@code token}, {@code lock} and, while a server runs for others,
 * {@code endpoint}; the run directory a {@code lock} of its own, because two servers with data of
 * their own could be given one.
 */
final class DataDirectory implements AutoCloseable {
  /**
   * What this process holds. To close a file ends the process's lock on it, through whichever
   * channel it was taken: so these files are not even opened to find out.
   */
  private static final Map<Path, FileChannel> HELD = new HashMap<>();

  private final Path path;
  private final FileChannel lock;
  private final FileChannel runLock;
  private boolean published;

  private DataDirectory(Path path, FileChannel lock, FileChannel runLock) {
    this.path = path;
    this.lock = lock;
    this.runLock = runLock;
  }

  /** Empty when another server holds it. */
  static Optional<DataDirectory> tryHold(StorageConfig storage) {
    makePrivate(storage.data());
    makePrivate(storage.run());
    Path path = storage.data();
    try {
      Optional<FileChannel> lock = tryHold(path, "lock");
      if (lock.isEmpty()) {
        return Optional.empty();
      }
      Optional<FileChannel> runLock = tryHold(storage.run(), "run.lock");
      if (runLock.isEmpty()) {
        release(lock.get());
        throw new ConfigurationException(
            "another server uses the run directory %s; give each its own storage.run-directory"
                .formatted(storage.run()));
      }
      // What a server that was killed could not take away itself.
      Files.deleteIfExists(path.resolve("endpoint"));
      return Optional.of(new DataDirectory(path, lock.get(), runLock.get()));
    } catch (IOException e) {
      throw unusable(path, e);
    }
  }

  /** A file that is locked as long as it is open; empty when a server has it. */
  private static Optional<FileChannel> tryHold(Path folder, String name) throws IOException {
    Path file = folder.toRealPath().resolve(name);
    synchronized (HELD) {
      if (HELD.containsKey(file)) {
        return Optional.empty();
      }
      FileChannel channel =
          FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
      if (channel.tryLock() == null) {
        channel.close();
        return Optional.empty();
      }
      HELD.put(file, channel);
      return Optional.of(channel);
    }
  }

  private static void release(FileChannel lock) throws IOException {
    synchronized (HELD) {
      HELD.values().remove(lock);
      lock.close();
    }
  }

  /** Whether some process holds it now. */
  static boolean isHeld(Path data) {
    if (!Files.exists(data.resolve("lock"))) {
      return false;
    }
    synchronized (HELD) {
      try {
        Path file = data.toRealPath().resolve("lock");
        return HELD.containsKey(file) || isLocked(file);
      } catch (IOException e) {
        throw unusable(data, e);
      }
    }
  }

  private static boolean isLocked(Path file) throws IOException {
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
      return channel.tryLock() == null;
    }
  }

  Path tokenFile() {
    return path.resolve("token");
  }

  /** Lets the command line of the same user find the server. */
  void publish(URI address, Optional<URI> grpc) {
    Path file = path.resolve("endpoint");
    Path draft = path.resolve("endpoint.new");
    String text =
        "address=%s\ntoken-file=%s\npid=%d\n"
                .formatted(address, tokenFile(), ProcessHandle.current().pid())
            + grpc.map(uri -> "grpc=" + uri + "\n").orElse("");
    try {
      Files.writeString(draft, text);
      Files.move(draft, file, StandardCopyOption.ATOMIC_MOVE);
      published = true;
    } catch (IOException e) {
      throw unusable(path, e);
    }
  }

  /** The address that a server published here, and a token for it. It may have died since. */
  static Optional<Published> published(Path data) {
    var properties = new Properties();
    try (var reader = Files.newBufferedReader(data.resolve("endpoint"))) {
      properties.load(reader);
      URI address = URI.create(properties.getProperty("address", ""));
      Path tokenFile = Path.of(properties.getProperty("token-file", ""));
      return Optional.of(new Published(address, TokenFile.firstToken(tokenFile)));
    } catch (IOException nobodyThere) {
      return Optional.empty();
    }
  }

  /** Where a server was, and the token to use there. */
  record Published(URI address, String token) {}

  private static ConfigurationException unusable(Path folder, IOException e) {
    String reason =
        switch (e) {
          case AccessDeniedException _ -> "permission denied";
          case NoSuchFileException _ -> "nothing can be made there";
          case FileAlreadyExistsException _ -> "there is a file, not a directory";
          default -> String.valueOf(e.getMessage());
        };
    return new ConfigurationException(
        "cannot use the directory %s: %s; choose another with storage.data-directory (serve --data)"
                .formatted(folder, reason)
            + " and storage.run-directory");
  }

  private static void makePrivate(Path folder) {
    try {
      Files.createDirectories(
          folder,
          PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
    } catch (IOException e) {
      throw unusable(folder, e);
    }
  }

  @Override
  public void close() {
    try {
      if (published) {
        Files.deleteIfExists(path.resolve("endpoint"));
      }
      release(runLock);
      release(lock);
    } catch (IOException e) {
      throw new UncheckedIOException("cannot release " + path, e);
    }
  }
}
