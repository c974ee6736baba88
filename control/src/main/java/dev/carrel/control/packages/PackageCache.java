package dev.carrel.control.packages;

import dev.carrel.spi.DataSize;
import java.io.Closeable;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.WritableByteChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Files of packages in a folder of the server's own, by where they come from and what they are. A
 * file gets its name when its digest was found right and its bytes are on the disk, and is read
 * through against that digest each time somebody wants it: what is wrong is a file that is not
 * there. The longest unused ones go when room is needed. Safe for many threads.
 */
final class PackageCache {
  private static final Logger LOG = LoggerFactory.getLogger(PackageCache.class);
  private static final String UNFINISHED = ".part";
  private static final int AT_ONCE = 64;
  private static final int PIECE = 64 * 1024;

  /** A file may fill this part of the room. */
  private static final int SHARE = 4;

  private final Path folder;
  private final long room;
  private final Duration patience;
  private final ReentrantLock lock = new ReentrantLock();
  // The longest unused first.
  private final Map<String, Long> sizes = new LinkedHashMap<>(16, 0.75f, true);
  private final Map<String, CompletableFuture<Outcome>> fetching = new HashMap<>();
  private long used;

  /**
   * @param patience how long anybody waits for a file that is fetched
   */
  PackageCache(Path folder, DataSize room, Duration patience) {
    this.folder = folder;
    this.room = room.bytes();
    this.patience = patience;
    try {
      Files.createDirectories(
          folder,
          PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
      adopt();
    } catch (IOException e) {
      throw new UncheckedIOException("cannot use " + folder, e);
    }
  }

  /** A file, open, whose bytes were just compared with its digest. */
  record Found(FileChannel file, long size, boolean kept) implements Closeable {
    @Override
    public void close() throws IOException {
      file.close();
    }
  }

  /** Where a file comes from that is not here. */
  interface Source {
    /**
     * False: it is not to be had.
     *
     * @param most a file with more bytes is refused in any case
     */
    boolean fetch(WritableByteChannel into, long most) throws IOException, InterruptedException;
  }

  long used() {
    lock.lock();
    try {
      return used;
    } finally {
      lock.unlock();
    }
  }

  /**
   * The file, from here or from its source; empty when the source has it not, has another, or there
   * is no room or no turn. Of those who want the same file at once one fetches it. It is empty,
   * too, when that takes longer than anybody is to wait; the fetch goes on, for who asks later.
   */
  Optional<Found> obtain(URI from, FileDigest digest, Source source)
      throws IOException, InterruptedException {
    String name = name(from, digest);
    long end = System.nanoTime() + patience.toNanos();
    Optional<Found> here = open(name, digest, true);
    boolean own = false;
    // What another could not fetch one may still fetch oneself.
    while (here.isEmpty() && !own) {
      Optional<Turn> turn = turn(name, digest, source);
      if (turn.isEmpty()) {
        return here;
      }
      own = turn.get().own;
      try {
        Outcome outcome = turn.get().outcome.get(end - System.nanoTime(), TimeUnit.NANOSECONDS);
        if (outcome != Outcome.NONE) {
          here = open(name, digest, !own || outcome == Outcome.THERE);
        }
      } catch (TimeoutException e) {
        return Optional.empty();
      } catch (ExecutionException e) {
        throw new IllegalStateException("a fetch ends without failing", e);
      }
    }
    return here;
  }

  private enum Outcome {
    NONE,
    /** Before it was fetched: another has just done so. */
    THERE,
    FETCHED
  }

  /**
   * Somebody's fetch of a file.
   *
   * @param outcome never fails
   */
  private record Turn(CompletableFuture<Outcome> outcome, boolean own) {}

  /** The fetch that is under way, or a new one; empty when there are too many. */
  private Optional<Turn> turn(String name, FileDigest digest, Source source) {
    lock.lock();
    try {
      CompletableFuture<Outcome> another = fetching.get(name);
      if (another != null) {
        return Optional.of(new Turn(another, false));
      }
      if (fetching.size() >= AT_ONCE) {
        return Optional.empty();
      }
      var outcome = new CompletableFuture<Outcome>();
      Thread.ofVirtual()
          .name("package-fetch")
          .start(() -> outcome.complete(fetchAlone(name, digest, source)));
      fetching.put(name, outcome);
      return Optional.of(new Turn(outcome, true));
    } finally {
      lock.unlock();
    }
  }

  private Outcome fetchAlone(String name, FileDigest digest, Source source) {
    try {
      try (Found there = open(name, digest, true).orElse(null)) {
        if (there != null) {
          return Outcome.THERE;
        }
      }
      forget(name);
      return fetch(name, digest, source) ? Outcome.FETCHED : Outcome.NONE;
    } catch (IOException | RuntimeException e) {
      LOG.warn("a file of a package could not be kept in {}", folder, e);
      return Outcome.NONE;
    } catch (InterruptedException e) {
      return Outcome.NONE;
    } finally {
      leave(name);
    }
  }

  /** The place is part of the name: what one host has says nothing of another. */
  private static String name(URI from, FileDigest digest) {
    MessageDigest place = new FileDigest("SHA-256", "").begin();
    place.update(from.toString().getBytes(StandardCharsets.UTF_8));
    return HexFormat.of().formatHex(place.digest(), 0, 16) + "." + digest;
  }

  private Optional<Found> open(String name, FileDigest digest, boolean kept) throws IOException {
    Path path = folder.resolve(name);
    FileChannel file;
    try {
      file = FileChannel.open(path, StandardOpenOption.READ);
    } catch (NoSuchFileException e) {
      return Optional.empty();
    }
    try {
      MessageDigest actual = digest.begin();
      ByteBuffer piece = ByteBuffer.allocate(PIECE);
      while (file.read(piece.clear()) >= 0) {
        actual.update(piece.flip());
      }
      if (!digest.is(actual)) {
        LOG.warn("{} is not what it was and is fetched anew", path);
        file.close();
        return Optional.empty();
      }
      touch(name, path);
      return Optional.of(new Found(file.position(0), file.size(), kept));
    } catch (IOException e) {
      file.close();
      throw e;
    }
  }

  private void touch(String name, Path path) throws IOException {
    lock.lock();
    try {
      if (sizes.get(name) != null) {
        // Tells the next process in which order they were used.
        Files.setLastModifiedTime(path, FileTime.from(Instant.now()));
      }
    } finally {
      lock.unlock();
    }
  }

  private boolean fetch(String name, FileDigest digest, Source source)
      throws IOException, InterruptedException {
    Path part = folder.resolve(name + UNFINISHED);
    MessageDigest actual = digest.begin();
    long size = 0;
    boolean right = false;
    try (FileChannel file =
        FileChannel.open(
            part,
            StandardOpenOption.CREATE,
            StandardOpenOption.TRUNCATE_EXISTING,
            StandardOpenOption.WRITE)) {
      var sink = new Sink(file, actual);
      try {
        right = source.fetch(sink, room / SHARE) && digest.is(actual);
        if (right) {
          file.force(true);
          Files.move(part, folder.resolve(name), StandardCopyOption.ATOMIC_MOVE);
        }
      } finally {
        size = sink.written;
        settle(right ? name : null, size);
      }
    } finally {
      Files.deleteIfExists(part);
    }
    return right;
  }

  /** Takes bytes while there is room for them. */
  private final class Sink implements WritableByteChannel {
    private final FileChannel file;
    private final MessageDigest digest;
    private long written;

    Sink(FileChannel file, MessageDigest digest) {
      this.file = file;
      this.digest = digest;
    }

    @Override
    public int write(ByteBuffer piece) throws IOException {
      int count = piece.remaining();
      if (written + count > room / SHARE) {
        throw new IOException("the file is too large to be kept");
      }
      reserve(count);
      written += count;
      digest.update(piece.duplicate());
      while (piece.hasRemaining()) {
        file.write(piece);
      }
      return count;
    }

    @Override
    public boolean isOpen() {
      return file.isOpen();
    }

    @Override
    public void close() {}
  }

  private void reserve(long bytes) throws IOException {
    lock.lock();
    try {
      var oldest = new ArrayList<>(sizes.keySet()).iterator();
      while (used + bytes > room) {
        if (!oldest.hasNext()) {
          throw new IOException("there is no room for it");
        }
        remove(oldest.next());
      }
      used += bytes;
    } finally {
      lock.unlock();
    }
  }

  /**
   * @param name under which what was reserved is now there; null: it is gone
   */
  private void settle(@Nullable String name, long size) {
    lock.lock();
    try {
      if (name == null) {
        used -= size;
      } else {
        sizes.put(name, size);
      }
    } finally {
      lock.unlock();
    }
  }

  private void forget(String name) throws IOException {
    lock.lock();
    try {
      remove(name);
    } finally {
      lock.unlock();
    }
  }

  private void remove(String name) throws IOException {
    Files.deleteIfExists(folder.resolve(name));
    Long size = sizes.remove(name);
    used -= size == null ? 0 : size;
  }

  private void leave(String name) {
    lock.lock();
    try {
      fetching.remove(name);
    } finally {
      lock.unlock();
    }
  }

  /** Takes over what the last process left, but for what it had not finished. */
  private void adopt() throws IOException {
    List<Path> files;
    try (Stream<Path> all = Files.list(folder)) {
      files = all.toList();
    }
    record Old(String name, long size, FileTime at) {}
    var kept = new ArrayList<Old>();
    for (Path file : files) {
      if (file.toString().endsWith(UNFINISHED)) {
        Files.delete(file);
      } else {
        kept.add(
            new Old(
                file.getFileName().toString(), Files.size(file), Files.getLastModifiedTime(file)));
      }
    }
    kept.sort(Comparator.comparing(Old::at));
    for (Old old : kept) {
      sizes.put(old.name(), old.size());
      used += old.size();
    }
    // The room may have become smaller.
    reserve(0);
  }
}
