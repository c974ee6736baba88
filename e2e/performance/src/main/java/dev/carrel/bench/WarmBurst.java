package dev.carrel.bench;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** A hundred who come at once, and a box with its interpreter waits for each. */
final class WarmBurst {
  private static final String SANDBOXES = "/api/v1/sandboxes";
  private static final String ONE_PLUS_ONE = "{\"language\":\"python\",\"code\":\"1+1\"}";
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int AT_ONCE = 100;
  // The first ones use the server, as it is before the other rows.
  private static final int UNCOUNTED = 4;
  private static final int ROUNDS = 3;
  private static final long PATIENCE_NANOS = 60_000_000_000L;

  private final ServerProcess server;
  private final Report report;

  WarmBurst(ServerProcess server, Report report) {
    this.server = server;
    this.report = report;
  }

  static Map<String, String> settings() {
    return Map.of(
        "CARREL_POOL_SIZES",
        "host=%d-%d".formatted(AT_ONCE, AT_ONCE),
        "CARREL_POOL_LANGUAGES",
        "host=python");
  }

  void measure() throws Exception {
    long[] nanos = new long[ROUNDS];
    try (HttpConnection http = server.connect()) {
      for (int round = -UNCOUNTED; round < ROUNDS; round++) {
        awaitFull(http);
        List<String> made = new ArrayList<>();
        long taken = burst(made);
        if (round >= 0) {
          nanos[round] = taken;
        }
        for (String box : made) {
          http.delete(SANDBOXES + "/" + box);
        }
      }
      JsonNode pool = summary(http).at("/per_image/0");
      report.add(
          Row.figure(
              "100 warm creates at once, 100 Python results",
              Samples.of(nanos).p50Millis(),
              "ms",
              150));
      report.add(Row.figure("of these found no box", pool.get("misses").asDouble(), "", 0));
    }
  }

  private long burst(List<String> made) throws Exception {
    CountDownLatch go = new CountDownLatch(1);
    List<HttpConnection> connections = new ArrayList<>();
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      List<Future<String>> results = new ArrayList<>();
      for (int i = 0; i < AT_ONCE; i++) {
        HttpConnection http = server.connect();
        connections.add(http);
        results.add(
            threads.submit(
                () -> {
                  go.await();
                  String box = JSON.readTree(http.post(SANDBOXES, "{}")).get("id").asText();
                  http.post(SANDBOXES + "/" + box + "/code", ONE_PLUS_ONE);
                  return box;
                }));
      }
      long start = System.nanoTime();
      go.countDown();
      for (Future<String> result : results) {
        made.add(result.get());
      }
      return System.nanoTime() - start;
    } finally {
      for (HttpConnection http : connections) {
        http.close();
      }
    }
  }

  private static void awaitFull(HttpConnection http) throws IOException, InterruptedException {
    long end = System.nanoTime() + PATIENCE_NANOS;
    while (summary(http).get("total_idle").asInt() < AT_ONCE) {
      if (System.nanoTime() > end) {
        throw new IOException("the pool does not fill");
      }
      Thread.sleep(20);
    }
  }

  private static JsonNode summary(HttpConnection http) throws IOException {
    return JSON.readTree(http.get("/api/v1/settings/sandbox/pool-summary"));
  }
}
