package dev.carrel.sdk;

import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Who runs and who waits on the server.
 *
 * @param waiting requests of one's own tenant
 */
public record QueueStatus(List<Line> lines, List<Request> waiting) {
  /**
   * @param kind create or execution
   * @param limit the most that run at once
   */
  public record Line(String kind, int running, int waiting, int limit, int maxWaiting) {}

  /**
   * @param position 1 is the next
   * @param sandboxId null for a create
   */
  public record Request(
      String kind, int position, Instant since, double waitedMs, @Nullable String sandboxId) {}
}
