package dev.carrel.control.exec;

import dev.carrel.spi.ExecEvent.Channel;
import dev.carrel.spi.ExecEvent.Output;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongPredicate;
import org.jspecify.annotations.Nullable;

/**
 * The output of one exec, readable from any offset while it grows. The first block stays in memory;
 * when it is full, blocks go to a file until the exec's share of the disk is used up; after that
 * only the last mebibyte is kept, or less where there is no room in memory. One thread appends, any
 * may read.
 *
 * <p>A reader may be pinned: past the file's end the writer then waits for it instead of dropping
 * what it has not seen, as long as the reader comes back for more within a minute.
 */
final class OutputLog {
  private static final int RING_BLOCKS = 16;
  private static final Duration PIN_PATIENCE = Duration.ofMinutes(1);
  private static final long NOT_PINNED = Long.MAX_VALUE;

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition more = lock.newCondition();
  private final Condition room = lock.newCondition();
  private final OutputFile file;
  private final SpillShare share;
  private final LongPredicate memory;
  private final Deque<OutputBlock> ring = new ArrayDeque<>();
  private OutputBlock current;
  private boolean capped;
  private boolean ended;
  private boolean lossy;
  private boolean abandoned;
  private int waiting;
  private long pinned = NOT_PINNED;
  private boolean pinnable = true;

  /** An empty log that spills to {@code path}. */
  OutputLog(Path path, SpillShare share, LongPredicate memory) {
    this(new OutputFile(path), share, memory);
  }

  OutputLog(OutputFile file, SpillShare share, LongPredicate memory) {
    this.file = file;
    this.share = share;
    this.memory = memory;
    this.current = new OutputBlock(file.end(), memory);
  }

  /** Goes on where the file of an earlier process ends. */
  static OutputLog resume(Path path, SpillShare share, LongPredicate memory) throws IOException {
    OutputFile file = OutputFile.open(path);
    share.take(file.size());
    return new OutputLog(file, share, memory);
  }

  /** The whole output of an ended exec, from its file. */
  static OutputLog ofFile(Path path) throws IOException {
    var log = new OutputLog(OutputFile.open(path), SpillShare.none(), _ -> true);
    log.ended = true;
    return log;
  }

  /** The whole output of an ended exec, from its stored records. */
  static OutputLog ofRecords(Path path, byte[] records) {
    var log = new OutputLog(new OutputFile(path), SpillShare.none(), _ -> true);
    long at = 0;
    for (var record = ByteBuffer.wrap(records); record.remaining() >= OutputBlock.HEADER; ) {
      int header = record.getInt();
      int length = OutputBlock.length(header);
      if (OutputBlock.kind(header) == OutputBlock.KIND_GAP) {
        log.current.moveTo(at + length);
      } else {
        ByteBuffer bytes = record.slice(record.position(), length);
        log.current.put(OutputBlock.channel(header), bytes);
        record.position(record.position() + length);
      }
      at += length;
    }
    log.ended = true;
    return log;
  }

  void append(Channel channel, ByteBuffer bytes) throws InterruptedException {
    ByteBuffer rest = bytes.duplicate();
    while (true) {
      lock.lock();
      try {
        current.put(channel, rest);
        if (waiting > 0) {
          more.signalAll();
        }
      } finally {
        lock.unlock();
      }
      if (!rest.hasRemaining()) {
        return;
      }
      seal();
    }
  }

  /** Output that was never received. */
  void gap(long bytes) throws InterruptedException {
    if (!current.empty()) {
      seal();
    }
    lock.lock();
    try {
      current.moveTo(current.to() + bytes);
      lossy = true;
    } finally {
      lock.unlock();
    }
  }

  /**
   * Keeps what has come, when nothing more will.
   *
   * @return the stored records when they are few enough to be kept elsewhere; null when they are in
   *     the file
   */
  byte @Nullable [] keep() {
    if (file.size() == 0 && ring.isEmpty() && current.from() == 0) {
      return current.copyOfStored();
    }
    writeRest();
    return null;
  }

  /** From now on readers know that nothing more will come. */
  void finish() {
    lock.lock();
    try {
      ended = true;
      more.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** Nobody appends any more, though the output goes on: readers are told so. */
  void abandon() {
    lock.lock();
    try {
      abandoned = true;
      pinnable = false;
      pinned = NOT_PINNED;
      more.signalAll();
      room.signalAll();
    } finally {
      lock.unlock();
    }
  }

  boolean abandoned() {
    lock.lock();
    try {
      return abandoned;
    } finally {
      lock.unlock();
    }
  }

  long end() {
    lock.lock();
    try {
      return current.to();
    } finally {
      lock.unlock();
    }
  }

  boolean ended() {
    lock.lock();
    try {
      return ended;
    } finally {
      lock.unlock();
    }
  }

  /** Whether some of the output is no longer kept anywhere. */
  boolean lossy() {
    lock.lock();
    try {
      return lossy;
    } finally {
      lock.unlock();
    }
  }

  /** What is there from this offset on, at most {@code max} bytes and at most a block. */
  Piece read(long from, int max) {
    OutputFile.Extent extent;
    lock.lock();
    try {
      long end = current.to();
      if (from >= end) {
        return new Piece(end, 0, List.of(), end, ended);
      }
      extent = file.find(from);
      if (extent == null) {
        OutputBlock block = inMemory(from);
        long start = Math.max(from, block.from());
        return piece(from, start, block.read(start, max), end, ended);
      }
      if (extent.from() > from) {
        return new Piece(extent.from(), extent.from() - from, List.of(), end, ended);
      }
    } finally {
      lock.unlock();
    }
    return fromFile(extent, from, max);
  }

  /** Waits until there is output beyond this offset or the end is reached; false: neither came. */
  boolean await(long offset, long nanos) throws InterruptedException {
    long left = nanos;
    lock.lock();
    try {
      waiting++;
      while (current.to() <= offset && !ended && !abandoned) {
        if (left <= 0) {
          return false;
        }
        left = more.awaitNanos(left);
      }
      return true;
    } finally {
      waiting--;
      lock.unlock();
    }
  }

  /** From now on the writer does not drop what is after this offset. */
  void pin(long offset) {
    lock.lock();
    try {
      pinned = pinnable ? offset : NOT_PINNED;
      room.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** From now on the writer waits for nobody. */
  void unpin() {
    lock.lock();
    try {
      pinned = NOT_PINNED;
      pinnable = false;
      room.signalAll();
    } finally {
      lock.unlock();
    }
  }

  private void seal() throws InterruptedException {
    OutputBlock full = current;
    OutputFile.Extent extent = spill(full);
    lock.lock();
    try {
      if (extent != null) {
        file.add(extent);
        current = new OutputBlock(full.to(), full);
        return;
      }
      boolean grows = ring.size() < RING_BLOCKS && memory.test(OutputBlock.LEAST);
      if (grows || ring.isEmpty()) {
        ring.addLast(full);
        current = new OutputBlock(full.to(), memory);
        return;
      }
      while (pinned < ring.getFirst().to()) {
        if (!room.await(PIN_PATIENCE.toNanos(), TimeUnit.NANOSECONDS)) {
          // It has stopped reading altogether: it will find a gap, should it come back.
          pinnable = false;
          pinned = NOT_PINNED;
        }
      }
      current = new OutputBlock(full.to(), ring.removeFirst());
      ring.addLast(full);
      lossy = true;
    } finally {
      lock.unlock();
    }
  }

  /** Writes without the lock: only this thread changes the block or the file. */
  private OutputFile.@Nullable Extent spill(OutputBlock block) {
    if (capped || !share.take(block.storedLength())) {
      capped = true;
      return null;
    }
    try {
      return file.write(block);
    } catch (IOException e) {
      // A full disk is no reason to stop the program: its output is cut, and said to be.
      capped = true;
      return null;
    }
  }

  private void writeRest() {
    try {
      while (!ring.isEmpty()) {
        move(ring.getFirst());
      }
      if (!current.empty()) {
        OutputFile.Extent last = file.write(current);
        lock.lock();
        try {
          file.add(last);
          current = OutputBlock.none(last.to());
        } finally {
          lock.unlock();
        }
      }
      file.close();
    } catch (IOException e) {
      lock.lock();
      try {
        lossy = true;
      } finally {
        lock.unlock();
      }
    }
  }

  private void move(OutputBlock block) throws IOException {
    OutputFile.Extent extent = file.write(block);
    lock.lock();
    try {
      file.add(extent);
      ring.removeFirst();
    } finally {
      lock.unlock();
    }
  }

  private OutputBlock inMemory(long from) {
    for (OutputBlock block : ring) {
      if (block.to() > from) {
        return block;
      }
    }
    return current;
  }

  private Piece fromFile(OutputFile.Extent extent, long from, int max) {
    try {
      List<Output> outputs = file.read(extent, from, max);
      return piece(from, from, outputs, end(), ended());
    } catch (IOException e) {
      // Pruned meanwhile, or the disk failed: that part is lost, what follows may not be.
      return new Piece(extent.to(), extent.to() - from, List.of(), end(), ended());
    }
  }

  private static Piece piece(
      long asked, long start, List<Output> outputs, long end, boolean ended) {
    long next = start;
    for (Output output : outputs) {
      next += output.bytes().remaining();
    }
    return new Piece(next, start - asked, outputs, end, ended);
  }

  /**
   * Part of the output.
   *
   * @param next the offset after it
   * @param lost bytes before it that are no longer kept
   * @param end of the log so far
   * @param ended whether {@code end} is final
   */
  record Piece(long next, long lost, List<Output> outputs, long end, boolean ended) {}
}
