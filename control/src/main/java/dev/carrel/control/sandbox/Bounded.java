package dev.carrel.control.sandbox;

import dev.carrel.spi.Alarm;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** Calls of engines and guests that must not hold a sandbox for ever. */
final class Bounded {
  private Bounded() {}

  /**
   * Waits for the result on a thread of its own, at most for {@code limit}.
   *
   * @param tooLate gets the result when it comes after all; must not throw
   * @throws SandboxException what the work throws, or {@code ENGINE_FAILED} when time is over
   */
  static <T> T call(String what, Duration limit, Supplier<T> work, Consumer<T> tooLate) {
    var outcome = new CompletableFuture<T>();
    Thread.ofVirtual()
        .name(what)
        .start(
            () -> {
              try {
                T result = work.get();
                if (!outcome.complete(result)) {
                  tooLate.accept(result);
                }
              } catch (RuntimeException | Error e) {
                outcome.completeExceptionally(e);
              }
            });
    return await(what, limit, outcome);
  }

  static void run(String what, Duration limit, Runnable work) {
    call(
        what,
        limit,
        () -> {
          work.run();
          return true;
        },
        _ -> {});
  }

  private static <T> T await(String what, Duration limit, CompletableFuture<T> outcome) {
    boolean interrupted = false;
    try (var _ = Alarm.after(limit, () -> outcome.completeExceptionally(late(what, limit)))) {
      while (true) {
        try {
          return outcome.get();
        } catch (InterruptedException e) {
          // Half a transition is worse than a late answer.
          interrupted = true;
        } catch (ExecutionException e) {
          throw rethrown(e);
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private static SandboxException late(String what, Duration limit) {
    return new SandboxException(
        ErrorCode.ENGINE_FAILED, "%s was not done after %d ms".formatted(what, limit.toMillis()));
  }

  private static RuntimeException rethrown(ExecutionException e) {
    return switch (e.getCause()) {
      case Error error -> throw error;
      case RuntimeException known -> known;
      case null, default -> new IllegalStateException(e);
    };
  }
}
