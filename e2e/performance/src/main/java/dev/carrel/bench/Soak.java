package dev.carrel.bench;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Many lives of sandboxes, one after another, and what they leave behind: nothing. */
public final class Soak {
  private static final String SANDBOXES = "/api/v1/sandboxes";
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int CLIENTS = 4;

  /** What the server may have opened for itself between two looks. */
  private static final int DESCRIPTOR_SLACK = 16;

  private static final Duration STILL = Duration.ofSeconds(2);
  private static final Duration PATIENCE = Duration.ofSeconds(20);

  private final ServerProcess server;
  private final Set<String> ids = ConcurrentHashMap.newKeySet();

  public Soak(ServerProcess server) {
    this.server = server;
  }

  /**
   * Creates and deletes so many sandboxes, by a few clients at once; every tenth does some work.
   *
   * @param fields of each create, as JSON
   */
  public void cycles(int count, String fields) throws IOException, InterruptedException {
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      List<Future<?>> clients = new ArrayList<>();
      for (int i = 0; i < CLIENTS; i++) {
        int own = count / CLIENTS + (i < count % CLIENTS ? 1 : 0);
        clients.add(
            threads.submit(
                () -> {
                  live(own, fields);
                  return null;
                }));
      }
      for (Future<?> client : clients) {
        client.get();
      }
    } catch (ExecutionException e) {
      throw new IOException("a cycle failed", e.getCause());
    }
  }

  private void live(int count, String fields) throws IOException {
    try (HttpConnection http = server.connect()) {
      for (int i = 0; i < count; i++) {
        String id = JSON.readTree(http.post(SANDBOXES, fields)).get("id").asText();
        ids.add(id);
        if (i % 10 == 0) {
          http.post(
              SANDBOXES + "/" + id + "/code",
              "{\"language\":\"python\",\"code\":\"open('f','w')\"}");
        }
        http.delete(SANDBOXES + "/" + id);
      }
    }
  }

  /** What is left of all sandboxes so far. */
  public Leftovers leftovers() throws IOException, InterruptedException {
    return Leftovers.settled(server, ids);
  }

  void run(Report report, int count, String kind, String fields) throws Exception {
    // The first ones make what stays: connections, caches, warm interpreters.
    cycles(CLIENTS * 10, fields);
    int descriptors = settledDescriptors();
    double memory = server.residentMebibytes();
    long start = System.nanoTime();
    cycles(count, fields);
    double seconds = (System.nanoTime() - start) / 1e9;
    report.add(Row.rate(count + " cycles, " + kind, count / seconds, "/s", null));
    try (HttpConnection http = server.connect()) {
      double listed = JSON.readTree(http.get(SANDBOXES)).get("total").asDouble();
      report.add(Row.figure("sandboxes listed", listed, "left", 0));
    }
    report.add(
        Row.figure(
            "more descriptors in server and spawn server",
            settledDescriptors() - descriptors,
            "",
            DESCRIPTOR_SLACK));
    report.add(
        Row.figure("server's memory growth", server.residentMebibytes() - memory, "MiB", 64));
  }

  /** When they change no more: boxes that a pool is about to have, and has, take some each. */
  private int settledDescriptors() throws IOException, InterruptedException {
    long now = System.nanoTime();
    long end = now + PATIENCE.toNanos();
    long since = now;
    int count = server.descriptors();
    while (now < end && now - since < STILL.toNanos()) {
      Thread.sleep(Duration.ofMillis(50));
      now = System.nanoTime();
      int next = server.descriptors();
      since = next == count ? since : now;
      count = next;
    }
    return count;
  }

  /** How many of the creates found a warm box. */
  void poolHits(Report report) throws IOException {
    try (HttpConnection http = server.connect()) {
      var pools = JSON.readTree(http.get("/api/v1/settings/sandbox/pool-summary")).get("per_image");
      double hits = 0;
      double misses = 0;
      for (var pool : pools) {
        hits += pool.get("hits").asDouble();
        misses += pool.get("misses").asDouble();
      }
      report.add(Row.note("creates that took a warm box", 100 * hits / (hits + misses), "%"));
    }
  }

  /** The ids of all sandboxes so far. */
  Set<String> ids() {
    return Set.copyOf(ids);
  }
}
