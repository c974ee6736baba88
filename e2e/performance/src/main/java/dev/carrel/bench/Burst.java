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

/** A hundred who come at once and want a Python result each. */
final class Burst {
  private static final String SANDBOXES = "/api/v1/sandboxes";
  private static final String ONE_PLUS_ONE = "{\"language\":\"python\",\"code\":\"1+1\"}";
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int AT_ONCE = 100;
  // The first ones use the server, as it is before the other rows: what is called n times for a
  // create reaches the compiler's 5,000 calls after 5,000/n of them, much of it at once, and up to
  // a quarter of a burst is compilation then. With the creates of the rows before a cold burst this
  // is behind what is called once or more. The first of all is a row of its own.
  private static final int UNCOUNTED = 24;
  private static final int ROUNDS = 7;
  // What the last round has left to be cleared away is not the next one's: its volumes are closed
  // after the answers to the deletes, and nothing else is done when their number has not changed
  // for so long.
  private static final long STILL_NANOS = 1_000_000_000L;
  private static final long PATIENCE_NANOS = 60_000_000_000L;

  private final ServerProcess server;
  private final Report report;

  Burst(ServerProcess server, Report report) {
    this.server = server;
    this.report = report;
  }

  /** A box with its interpreter waits for each. */
  static Map<String, String> boxes() {
    return Map.of(
        "CARREL_POOL_SIZES",
        "host=%d-%d".formatted(AT_ONCE, AT_ONCE),
        "CARREL_POOL_LANGUAGES",
        "host=python");
  }

  /** For a server where nothing is made ahead. */
  void cold() throws Exception {
    double millis = median("the first 100 creates at once of a server", 0);
    report.add(
        Row.figure("100 creates at once, 100 Python results", millis, "ms", 600)
            .against(Floors.PYTHON));
  }

  /** For a server with {@link #boxes}. */
  void warm() throws Exception {
    double millis = median("the first 100 warm creates at once of a server", AT_ONCE);
    report.add(
        Row.figure("100 warm creates at once, 100 Python results", millis, "ms", 150)
            .against(Floors.LAUNCH));
    try (HttpConnection http = server.connect()) {
      double misses = summary(http).at("/per_image/0").get("misses").asDouble();
      report.add(Row.figure("of these found no box", misses, "", 0));
    }
  }

  private double median(String first, int boxes) throws Exception {
    long[] nanos = new long[ROUNDS];
    try (HttpConnection http = server.connect()) {
      for (int round = -UNCOUNTED; round < ROUNDS; round++) {
        awaitIdle(http, boxes);
        awaitStill();
        List<String> made = new ArrayList<>();
        long taken = burst(made);
        if (round == -UNCOUNTED) {
          report.add(Row.note(first, taken / 1e6, "ms"));
        }
        if (round >= 0) {
          nanos[round] = taken;
        }
        for (String box : made) {
          http.delete(SANDBOXES + "/" + box);
        }
      }
    }
    return Samples.of(nanos).p50Millis();
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

  private static void awaitIdle(HttpConnection http, int boxes)
      throws IOException, InterruptedException {
    long end = System.nanoTime() + PATIENCE_NANOS;
    while (summary(http).get("total_idle").asInt() < boxes) {
      if (System.nanoTime() > end) {
        throw new IOException("the pool does not fill");
      }
      Thread.sleep(20);
    }
  }

  private void awaitStill() throws IOException, InterruptedException {
    long now = System.nanoTime();
    long end = now + PATIENCE_NANOS;
    long since = now;
    int devices = Leftovers.loopDevices(server.volumeDirectory());
    while (now - since < STILL_NANOS) {
      if (now > end) {
        throw new IOException("the last round is not cleared away");
      }
      Thread.sleep(50);
      now = System.nanoTime();
      int next = Leftovers.loopDevices(server.volumeDirectory());
      since = next == devices ? since : now;
      devices = next;
    }
  }

  private static JsonNode summary(HttpConnection http) throws IOException {
    return JSON.readTree(http.get("/api/v1/settings/sandbox/pool-summary"));
  }
}
