package dev.carrel.control.sandbox;

import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The same done to many sandboxes, a few at a time; one that fails does not stop the others. */
public final class Bulk {
  /** The most at once. */
  public static final int MOST = 1000;

  private static final int AT_ONCE = 8;

  private final Sandboxes sandboxes;
  private final int most;

  public Bulk(Sandboxes sandboxes) {
    this(sandboxes, MOST);
  }

  Bulk(Sandboxes sandboxes, int most) {
    this.sandboxes = sandboxes;
    this.most = most;
  }

  /** Stops those that run or are paused; the others are skipped. */
  public Outcome stop(Caller caller, List<SandboxId> ids) throws InterruptedException {
    return each(
        ids,
        id -> {
          SandboxStatus status = sandboxes.get(caller, id).status();
          if (status != SandboxStatus.RUNNING && status != SandboxStatus.PAUSED) {
            return Done.SKIPPED;
          }
          sandboxes.stop(caller, id);
          return Done.STOPPED;
        });
  }

  public Outcome delete(Caller caller, List<SandboxId> ids) throws InterruptedException {
    return each(
        ids,
        id -> {
          sandboxes.delete(caller, id);
          return Done.DESTROYED;
        });
  }

  /** All that a query finds, whatever page it asks for, up to the most at once. */
  public Found find(Caller caller, SandboxQuery query) {
    var ids = new ArrayList<SandboxId>();
    long total = 0;
    for (int number = 1; ids.size() < most; number++) {
      SandboxPage page = sandboxes.list(caller, query.onPage(number));
      page.items().forEach(sandbox -> ids.add(sandbox.id()));
      total = page.total();
      if (page.items().size() < SandboxQuery.MAX_PAGE_SIZE) {
        break;
      }
    }
    int taken = Math.min(ids.size(), most);
    return new Found(ids.subList(0, taken), Math.max(0, total - taken));
  }

  private static Outcome each(List<SandboxId> ids, Function<SandboxId, Done> work)
      throws InterruptedException {
    try (var pool = Executors.newFixedThreadPool(AT_ONCE, Thread.ofVirtual().factory())) {
      List<Callable<Result>> tasks = new ArrayList<>();
      for (SandboxId id : ids) {
        tasks.add(() -> one(id, work));
      }
      var results = new ArrayList<Result>();
      for (Future<Result> future : pool.invokeAll(tasks)) {
        results.add(future.get());
      }
      return Outcome.of(results);
    } catch (ExecutionException e) {
      throw new IllegalStateException("a sandbox could not be seen to", e.getCause());
    }
  }

  private static Result one(SandboxId id, Function<SandboxId, Done> work) {
    try {
      return new Result(id, work.apply(id), null);
    } catch (SandboxException e) {
      return new Result(id, null, e);
    }
  }

  private enum Done {
    STOPPED,
    DESTROYED,
    SKIPPED
  }

  private record Result(SandboxId id, @Nullable Done done, @Nullable SandboxException failure) {}

  /**
   * What a query found.
   *
   * @param left how many more there are
   */
  public record Found(List<SandboxId> ids, long left) {
    public Found {
      ids = List.copyOf(ids);
    }
  }

  /** One that failed, and why. */
  public record Failed(SandboxId id, SandboxException failure) {}

  /** How many came to what. */
  public record Outcome(long stopped, long destroyed, long skipped, List<Failed> failed) {
    public Outcome {
      failed = List.copyOf(failed);
    }

    private static Outcome of(List<Result> results) {
      var failed = new ArrayList<Failed>();
      for (Result result : results) {
        if (result.failure != null) {
          failed.add(new Failed(result.id, result.failure));
        }
      }
      return new Outcome(
          count(results, Done.STOPPED),
          count(results, Done.DESTROYED),
          count(results, Done.SKIPPED),
          failed);
    }

    private static long count(List<Result> results, Done done) {
      return results.stream().filter(result -> result.done == done).count();
    }
  }
}
