package dev.carrel.control.image;

import dev.carrel.image.Digest;
import dev.carrel.image.ImageFolder.Stored;
import dev.carrel.image.Progress;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Work that makes images: one piece at a time for each, a few at a time in all. */
final class ImageJobs implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(ImageJobs.class);
  private static final String BROKEN_OFF = "it was broken off by who asked for it";

  private final Path logs;
  private final Semaphore slots;
  private final int most;
  private final Map<String, ImageJob> running = new ConcurrentHashMap<>();
  private final Set<Thread> workers = ConcurrentHashMap.newKeySet();
  // Who makes files holds it for reading, who removes those of nobody for writing.
  private final ReentrantReadWriteLock files = new ReentrantReadWriteLock();
  private volatile boolean closing;

  ImageJobs(Path logs, int most) {
    this.logs = logs;
    this.most = most;
    this.slots = new Semaphore(most, true);
    try {
      Files.createDirectories(logs);
    } catch (IOException e) {
      throw new UncheckedIOException("cannot create " + logs, e);
    }
  }

  /** From now on nobody else works on this image; to be followed by a run. */
  void reserve(String name) {
    running.compute(
        name,
        (_, there) -> {
          if (there != null) {
            throw busyWith(name);
          }
          return new ImageJob(logFile(name)); // begins the log anew
        });
  }

  void release(String name) {
    ImageJob job = running.remove(name);
    if (job != null) {
      job.close();
    }
  }

  /** In a thread of its own; returns at once. */
  void start(String name, Work work, Ending ending) {
    Thread.ofVirtual()
        .name("image-" + name)
        .start(
            () -> {
              try {
                run(name, work, ending);
              } catch (SandboxException e) {
                LOG.info("image {}: {}", name, e.message());
              } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
              }
            });
  }

  /** In this thread; throws as the work does, after the ending knows. */
  void run(String name, Work work, Ending ending) throws InterruptedException {
    ImageJob job = running.get(name);
    if (job == null) {
      throw new IllegalStateException("image " + name + " was not reserved");
    }
    workers.add(Thread.currentThread());
    try {
      make(work, job, ending);
      job.step("ready");
    } catch (RuntimeException e) {
      SandboxException why = known(name, e);
      job.log(why.message());
      ending.failed(why);
      throw why;
    } catch (InterruptedException e) {
      // The next start says it of what the server's own end breaks off.
      if (!closing) {
        job.log(BROKEN_OFF);
        ending.failed(new SandboxException(ErrorCode.IMAGE_SOURCE_FAILED, BROKEN_OFF, e));
      }
      throw e;
    } finally {
      workers.remove(Thread.currentThread());
      release(name);
    }
  }

  private void make(Work work, ImageJob job, Ending ending) throws InterruptedException {
    slots.acquire();
    files.readLock().lock();
    try {
      // Files are nobody's until the ending has said whose they are.
      ending.ready(work.run(job));
    } catch (IOException e) {
      throw new SandboxException(ErrorCode.IMAGE_SOURCE_FAILED, String.valueOf(e.getMessage()), e);
    } catch (UncheckedIOException e) {
      throw new SandboxException(ErrorCode.INTERNAL, String.valueOf(e.getMessage()), e);
    } finally {
      files.readLock().unlock();
      slots.release();
    }
  }

  /** A mistake of ours must not leave an image in the making for ever. */
  private static SandboxException known(String name, RuntimeException e) {
    if (e instanceof SandboxException known) {
      return known;
    }
    LOG.error("image {}: the work on it failed", name, e);
    return new SandboxException(ErrorCode.INTERNAL, "the work on it failed: " + e, e);
  }

  boolean busy(String name) {
    return running.containsKey(name);
  }

  void requireIdle(String name) {
    if (busy(name)) {
      throw busyWith(name);
    }
  }

  /** Does something that must not meet files in the making; empty when there are any. */
  OptionalLong alone(LongSupplier work) {
    if (!files.writeLock().tryLock()) {
      return OptionalLong.empty();
    }
    try {
      return OptionalLong.of(work.getAsLong());
    } finally {
      files.writeLock().unlock();
    }
  }

  ImageProgress progress(String name, ImageProgress seen, Duration patience)
      throws InterruptedException {
    ImageJob job = running.get(name);
    return job == null
        ? new ImageProgress(seen.version() + 1, "", 0, -1, List.of(), seen.lineCount(), true)
        : job.after(seen, patience);
  }

  String log(String name) {
    try {
      return Files.readString(logFile(name));
    } catch (NoSuchFileException e) {
      return "";
    } catch (IOException e) {
      throw new UncheckedIOException("cannot read the log of image " + name, e);
    }
  }

  @Override
  public void close() {
    closing = true;
    workers.forEach(Thread::interrupt);
    // Whoever still holds a slot is about to let it go; files of the database close after this.
    slots.acquireUninterruptibly(most);
    slots.release(most);
  }

  private Path logFile(String name) {
    return logs.resolve(Digest.named(name.getBytes(StandardCharsets.UTF_8)).hex() + ".log");
  }

  private static SandboxException busyWith(String name) {
    return new SandboxException(
            ErrorCode.WRONG_STATE, "image " + name + " is being built or pulled already")
        .withHint("follow it with GET /api/v1/images/{image}/progress");
  }

  /** What makes an image. */
  interface Work {
    Stored run(Progress progress) throws IOException, InterruptedException;
  }

  /** Told how it ended, once. */
  interface Ending {
    void ready(Stored stored);

    void failed(SandboxException why);
  }
}
