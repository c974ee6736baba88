package dev.carrel.control.image;

import dev.carrel.image.Progress;
import dev.carrel.spi.Text;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Work on one image that others can watch, and its log on disk. The work itself is one thread's,
 * watching is for many.
 */
final class ImageJob implements Progress, AutoCloseable {
  private static final int KEPT_LINES = 500;
  private static final int MAX_LINE = 2000;
  private static final long MAX_LOG = 4L << 20;
  private static final Duration PACE = Duration.ofMillis(200);

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private final Deque<String> lines = new ArrayDeque<>();
  private final BufferedWriter log;
  private long logged;
  private long lineCount;
  private long version = 1;
  private long told = System.nanoTime();
  private String step = "waiting for its turn";
  private long done;
  private long total = -1;
  private boolean ended;

  ImageJob(Path logFile) {
    try {
      log = Files.newBufferedWriter(logFile);
    } catch (IOException e) {
      throw new UncheckedIOException("cannot write " + logFile, e);
    }
  }

  @Override
  public void step(String what) {
    lock.lock();
    try {
      step = what;
      done = 0;
      total = -1;
      append(what);
      tell();
    } finally {
      lock.unlock();
    }
  }

  @Override
  public void at(long newDone, long newTotal) {
    // Called for every piece of every file: almost always this is all it costs.
    if (System.nanoTime() - told < PACE.toNanos() && newDone != newTotal) {
      return;
    }
    lock.lock();
    try {
      done = newDone;
      total = newTotal;
      tell();
    } finally {
      lock.unlock();
    }
  }

  @Override
  public void log(String line) {
    lock.lock();
    try {
      append(line);
      tell();
    } finally {
      lock.unlock();
    }
  }

  /** The work has ended, well or badly; whoever asks afterwards hears nothing new. */
  @Override
  public void close() {
    lock.lock();
    try {
      ended = true;
      tell();
      log.close();
    } catch (IOException e) {
      logged = MAX_LOG; // as in append
    } finally {
      lock.unlock();
    }
  }

  /** Waits until there is more than was seen, at most for a while. */
  ImageProgress after(ImageProgress seen, Duration patience) throws InterruptedException {
    lock.lockInterruptibly();
    try {
      long left = patience.toNanos();
      while (version == seen.version() && !ended && left > 0) {
        left = changed.awaitNanos(left);
      }
      return new ImageProgress(
          version, step, done, total, linesAfter(seen.lineCount()), lineCount, ended);
    } finally {
      lock.unlock();
    }
  }

  private List<String> linesAfter(long seen) {
    var all = new ArrayList<>(lines);
    int fresh = (int) Math.min(all.size(), lineCount - seen);
    return all.subList(all.size() - fresh, all.size());
  }

  private void append(String line) {
    String clean = Text.printable(line, MAX_LINE);
    lines.addLast(clean);
    lineCount++;
    if (lines.size() > KEPT_LINES) {
      lines.removeFirst();
    }
    try {
      if (logged < MAX_LOG) {
        log.write(clean);
        log.newLine();
        log.flush();
        logged += clean.length() + 1;
      }
    } catch (IOException e) {
      // Images fill disks: how the work ends must be told all the same. Nothing more is tried.
      logged = MAX_LOG;
    }
  }

  private void tell() {
    version++;
    told = System.nanoTime();
    changed.signalAll();
  }
}
