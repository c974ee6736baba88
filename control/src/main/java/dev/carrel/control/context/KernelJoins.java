package dev.carrel.control.context;

import dev.carrel.control.sandbox.RunningSandbox;
import dev.carrel.spi.ExecId;
import dev.carrel.spi.SandboxException;
import java.time.Duration;
import java.util.function.IntSupplier;
import org.jspecify.annotations.Nullable;

/** How interpreters that an earlier process left are joined: those that answer keep their state. */
final class KernelJoins {
  private static final Duration JOIN_PATIENCE = Duration.ofSeconds(2);

  private final Duration interruptGrace;
  private final IntSupplier ids;

  /**
   * @param interruptGrace for one that is busy with a cell that nobody waits for any more
   * @param ids the next number of a cell
   */
  KernelJoins(Duration interruptGrace, IntSupplier ids) {
    this.interruptGrace = interruptGrace;
    this.ids = ids;
  }

  /** Has the context's turn until it is known whether it answers. */
  void join(
      RunningSandbox sandbox, LiveContext context, ExecId exec, Context.@Nullable Start start) {
    Kernel kernel;
    try {
      kernel = new Kernel(sandbox, exec, sandbox.attachAtEnd(exec), start);
    } catch (SandboxException e) {
      // It ended while nobody looked. The next cell starts another and says so.
      context.lost();
      return;
    }
    context.kernel(kernel);
    context.saved(kernel);
    context.joining();
    Thread.ofVirtual().name(sandbox.id() + "-join").start(() -> awaitJoined(context, kernel));
  }

  private void awaitJoined(LiveContext context, Kernel kernel) {
    try {
      int ping = ids.getAsInt();
      boolean answered = kernel.answers(ping, JOIN_PATIENCE);
      if (!answered && kernel.alive()) {
        // Busy with a cell that nobody waits for any more.
        kernel.interrupt();
        answered = kernel.awaitAnswer(interruptGrace);
      }
      if (!answered) {
        kernel.end();
      }
    } catch (SandboxException e) {
      context.lost();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } finally {
      context.endTurn();
    }
  }
}
