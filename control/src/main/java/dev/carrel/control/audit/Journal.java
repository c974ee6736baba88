package dev.carrel.control.audit;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Records that were acknowledged and are not in the database yet, in a file beside it: to append to
 * one takes a fraction of a transaction. A process that is killed leaves it to the next. Numbers
 * only grow, so that the database can tell which of them it has. Safe for many threads.
 */
final class Journal implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Journal.class);
  private static final int MAX_PENDING = 10_000;
  private static final long MAX_BYTES = 16L << 20;

  private final Path path;
  private final Deque<Noted> pending = new ArrayDeque<>();
  // Not a channel: who is interrupted while writing to one closes it for all.
  private RandomAccessFile file;
  private long end;
  private long last;
  private boolean usable = true;

  /** A record that waits. */
  @SuppressWarnings("ArrayRecordComponent") // written, never compared
  record Noted(long number, StoredRecord row, byte[] frame) {}

  private Journal(Path path, RandomAccessFile file, long last) {
    this.path = path;
    this.file = file;
    this.last = last;
  }

  /**
   * Opens or makes the file; what an earlier process left in it waits again.
   *
   * @param written the last number that the database has
   */
  static Journal open(Path path, long written) {
    try {
      if (!Files.exists(path)) {
        create(path);
      }
      var journal = new Journal(path, new RandomAccessFile(path.toFile(), "rw"), written);
      journal.recover(Files.readAllBytes(path), written);
      return journal;
    } catch (IOException e) {
      throw new UncheckedIOException("cannot use " + path, e);
    }
  }

  private static void create(Path path) throws IOException {
    // Commands and their output are in it.
    Files.createFile(
        path, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
  }

  /** Stops at the first frame that is not whole: nobody was told of that one. */
  private void recover(byte[] content, long written) throws IOException {
    ByteBuffer bytes = ByteBuffer.wrap(content);
    for (Noted noted = JournalFrame.next(bytes); noted != null; noted = JournalFrame.next(bytes)) {
      if (noted.number() > written) {
        pending.add(noted);
      }
      last = Math.max(last, noted.number());
    }
    cutAt(bytes.position());
  }

  /** Whether the record is safe here; if not, the caller writes it to the database itself. */
  synchronized boolean add(StoredRecord row) {
    if (!usable || pending.size() >= MAX_PENDING) {
      return false;
    }
    byte[] frame = JournalFrame.of(last + 1, row);
    if (!append(frame)) {
      return false;
    }
    last++;
    pending.add(new Noted(last, row, frame));
    notifyAll();
    return true;
  }

  private boolean append(byte[] frame) {
    try {
      file.write(frame);
      end += frame.length;
      return true;
    } catch (IOException e) {
      LOG.warn(
          "the audit's journal cannot be written, the database is written at once: {}",
          e.toString());
      usable = takeBack();
      return false;
    }
  }

  /** Half a frame would hide those that come after it. */
  private boolean takeBack() {
    try {
      cutAt(end);
      return true;
    } catch (IOException e) {
      return false;
    }
  }

  private void cutAt(long size) throws IOException {
    file.setLength(size);
    file.seek(size);
    end = size;
  }

  /** Those after this number, in order. */
  synchronized List<Noted> after(long number) {
    return pending.stream().filter(noted -> noted.number() > number).toList();
  }

  synchronized boolean isEmpty() {
    return pending.isEmpty();
  }

  /** Waits until there is something to write to the database. */
  synchronized void await() throws InterruptedException {
    while (pending.isEmpty()) {
      wait();
    }
  }

  /** The database has all up to this number, for good. */
  synchronized void written(long number) {
    while (!pending.isEmpty() && pending.getFirst().number() <= number) {
      pending.removeFirst();
    }
    try {
      if (pending.isEmpty()) {
        cutAt(0);
        usable = true;
      } else if (end > MAX_BYTES) {
        shorten();
      }
    } catch (IOException e) {
      // What is in it is known to the database: the next process reads over it.
      LOG.warn("the audit's journal could not be shortened: {}", e.toString());
    }
  }

  /** There is always somebody who waits: a new file has them alone, and then it is the file. */
  private void shorten() throws IOException {
    Path draft = path.resolveSibling(path.getFileName() + ".draft");
    Files.deleteIfExists(draft);
    create(draft);
    var shorter = new RandomAccessFile(draft.toFile(), "rw");
    try {
      for (Noted noted : pending) {
        shorter.write(noted.frame());
      }
      Files.move(draft, path, StandardCopyOption.ATOMIC_MOVE);
    } catch (IOException e) {
      shorter.close();
      throw e;
    }
    file.close();
    file = shorter;
    end = shorter.getFilePointer();
    usable = true;
  }

  @Override
  public synchronized void close() {
    usable = false;
    try {
      file.close();
    } catch (IOException e) {
      LOG.debug("the audit's journal did not close: {}", e.toString());
    }
  }
}
