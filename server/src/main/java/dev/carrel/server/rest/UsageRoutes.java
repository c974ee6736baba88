package dev.carrel.server.rest;

import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.control.sandbox.SandboxUsage;
import dev.carrel.control.sandbox.Sandboxes;
import dev.carrel.server.http.Exchange;
import dev.carrel.server.http.Router;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What sandboxes use now. */
final class UsageRoutes {
  private static final int MOST = 1000;
  private static final double NANOS = 1e9;

  private final Sandboxes sandboxes;

  UsageRoutes(Sandboxes sandboxes) {
    this.sandboxes = sandboxes;
  }

  void addTo(Router router) {
    router.get("/api/v1/usage", this::all).get("/api/v1/sandboxes/{id}/usage", this::one);
  }

  private void all(Exchange exchange) {
    int limit = (int) exchange.query().number("limit", MOST, 1, MOST);
    List<SandboxUsage> found = sandboxes.usage(exchange.caller(), limit + 1);
    exchange.json(
        200,
        new UsageList(
            Instant.now().toString(),
            found.stream().limit(limit).map(UsageView::of).toList(),
            found.size() > limit));
  }

  private void one(Exchange exchange) {
    exchange.json(200, UsageView.of(sandboxes.usage(exchange.caller(), Ids.sandbox(exchange))));
  }

  record UsageList(String at, List<UsageView> sandboxes, boolean truncated) {}

  record UsageView(
      String id,
      String status,
      String engine,
      String image,
      String userId,
      double cpuSeconds,
      double cpuCores,
      long memoryBytes,
      long memoryLimitBytes,
      long processes,
      int pids,
      @Nullable String lastCommand,
      String createdAt,
      String lastActivityAt) {
    static UsageView of(SandboxUsage usage) {
      Sandbox sandbox = usage.sandbox();
      return new UsageView(
          sandbox.id().value(),
          sandbox.status().wireName(),
          sandbox.engine(),
          sandbox.image(),
          sandbox.tenant(),
          usage.usage().cpuNanos() / NANOS,
          sandbox.limits().cpus(),
          usage.usage().memoryBytes(),
          sandbox.limits().memory().bytes(),
          usage.usage().pids(),
          sandbox.limits().pids(),
          usage.lastCommand(),
          sandbox.createdAt().toString(),
          sandbox.lastActivityAt().toString());
    }
  }
}
