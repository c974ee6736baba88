package dev.carrel.control.files;

import dev.carrel.control.sandbox.RunningSandbox;
import dev.carrel.guest.FileWatch;
import dev.carrel.spi.SandboxException;
import java.time.Duration;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Changes under a directory, live. For one thread; must be closed. A reader that falls behind makes
 * the guest wait, which then counts what it missed as one OVERFLOW.
 */
public final class FileEvents implements AutoCloseable {
  private static final int BUFFERED = 256;

  private final FileWatch watch;
  private final RunningSandbox sandbox;
  private final Predicate<String> wanted;
  private final BlockingQueue<Item> items = new ArrayBlockingQueue<>(BUFFERED);
  private final RunningSandbox.Use use;
  private final Thread reader;
  private boolean over;

  FileEvents(FileWatch watch, RunningSandbox sandbox, Predicate<String> wanted) {
    this.watch = watch;
    this.wanted = wanted;
    this.sandbox = sandbox;
    this.use = sandbox.use();
    this.reader = Thread.ofVirtual().name(sandbox.id() + "-watch").start(this::read);
  }

  /**
   * Waits for the next change; null when the time is over.
   *
   * @throws SandboxException when the sandbox is gone
   */
  public @Nullable FileEvent next(Duration patience) throws InterruptedException {
    if (over) {
      return null;
    }
    Item item = items.poll(patience.toNanos(), TimeUnit.NANOSECONDS);
    return switch (item) {
      case null -> null;
      case Item.Change(FileEvent event) -> event;
      case Item.End(SandboxException failure) -> {
        over = true;
        throw sandbox.explain(failure);
      }
    };
  }

  @Override
  public void close() {
    use.close();
    watch.close();
    reader.interrupt();
  }

  private void read() {
    try {
      while (true) {
        dev.carrel.guest.FileEvent event = watch.next();
        if (event == null) {
          return;
        }
        FileEvent.Kind kind = kind(event.kind());
        String path = SandboxPath.shown(event.path());
        if (kind == FileEvent.Kind.OVERFLOW || wanted.test(path)) {
          items.put(
              new Item.Change(
                  new FileEvent(sandbox.redaction().text(path), kind, event.directory())));
        }
      }
    } catch (SandboxException e) {
      end(e);
    } catch (InterruptedException e) {
      // Closed: nobody listens any more.
      Thread.currentThread().interrupt();
    }
  }

  private void end(SandboxException failure) {
    try {
      items.put(new Item.End(failure));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private static FileEvent.Kind kind(dev.carrel.guest.FileEvent.Kind kind) {
    return switch (kind) {
      case CREATED -> FileEvent.Kind.CREATED;
      case MODIFIED -> FileEvent.Kind.MODIFIED;
      case DELETED -> FileEvent.Kind.DELETED;
      case MOVED_AWAY -> FileEvent.Kind.MOVED_AWAY;
      case MOVED_HERE -> FileEvent.Kind.MOVED_HERE;
      case OVERFLOW -> FileEvent.Kind.OVERFLOW;
    };
  }

  private sealed interface Item {
    record Change(FileEvent event) implements Item {}

    record End(SandboxException failure) implements Item {}
  }

  /** One change. */
  public record FileEvent(String path, Kind kind, boolean directory) {
    /** What happened; after OVERFLOW some changes are missing. */
    public enum Kind {
      CREATED,
      MODIFIED,
      DELETED,
      MOVED_AWAY,
      MOVED_HERE,
      OVERFLOW
    }
  }
}
