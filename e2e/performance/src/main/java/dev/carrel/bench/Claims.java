package dev.carrel.bench;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Map;

/** What a warm sandbox costs, beside few live ones and beside many. */
final class Claims {
  private static final String SANDBOXES = "/api/v1/sandboxes";
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int[] LIVE = {10, 100, 500};
  private static final int MAX_ALIVE = 40;
  private static final int SIZE = 8;
  // Of a pool that wants more, since somebody found it empty, it is still filled when these wait.
  private static final int FULL = Integer.MAX_VALUE;
  private static final int ENOUGH = 4;
  // Per sample that is taken afterwards, as for the other rows: a server in use is measured.
  private static final int USE = 20;

  private final ServerProcess server;
  private final Report report;

  Claims(ServerProcess server, Report report) {
    this.server = server;
    this.report = report;
  }

  /** A pool of the default image with a Python interpreter in each box, and room for the others. */
  static Map<String, String> settings() {
    return settings(SIZE);
  }

  /** The same with a pool of one size: a box more is three descriptors more. */
  static Map<String, String> steady() {
    return settings(2 * SIZE);
  }

  private static Map<String, String> settings(int least) {
    String most = String.valueOf(LIVE[LIVE.length - 1] + 2 * MAX_ALIVE);
    return Map.of(
        "CARREL_POOL_SIZES",
        "host=%d-%d".formatted(least, 2 * SIZE),
        "CARREL_POOL_LANGUAGES",
        "host=python",
        "CARREL_SANDBOX_MAX_COUNT",
        most,
        "CARREL_SANDBOX_MAX_COUNT_PER_TENANT",
        most);
  }

  void measure(int count) throws Exception {
    Deque<String> live = new ArrayDeque<>();
    try (HttpConnection http = server.connect()) {
      first(http, count);
      for (int wanted : LIVE) {
        while (live.size() < wanted) {
          live.add(create(http));
        }
        claims(http, wanted, count);
      }
      report.add(
          Row.floor("claims while the pool is filled beside them", time(http, count, ENOUGH)));
      for (String box : live) {
        http.delete(SANDBOXES + "/" + box);
      }
    }
  }

  /** What the first claims take, and the use that makes the later ones comparable. */
  private void first(HttpConnection http, int count) throws Exception {
    report.add(Row.floor("first claims after the start", time(http, count, FULL)));
    time(http, count * USE, ENOUGH);
  }

  private void claims(HttpConnection http, int live, int count) throws Exception {
    Samples samples = time(http, count, FULL);
    report.add(
        Row.latency("claim until first result, %d live".formatted(live), samples, 3, null)
            .against(Floors.LAUNCH));
  }

  /**
   * @param idle how many boxes wait before each claim, if the pool wants so many; less than that,
   *     and it is filled while they are taken
   */
  private static Samples time(HttpConnection http, int count, int idle) throws Exception {
    Deque<String> made = new ArrayDeque<>();
    Samples samples =
        Samples.time(
            count,
            0,
            () -> {
              if (made.size() >= MAX_ALIVE) {
                http.delete(SANDBOXES + "/" + made.remove());
              }
              awaitIdle(http, idle);
            },
            () -> {
              String box = create(http);
              made.add(box);
              return http.post(
                  SANDBOXES + "/" + box + "/code", "{\"language\":\"python\",\"code\":\"1+1\"}");
            });
    for (String box : made) {
      http.delete(SANDBOXES + "/" + box);
    }
    return samples;
  }

  /** The refill goes on in the background; a miss would measure a cold start. */
  private static void awaitIdle(HttpConnection http, int idle)
      throws IOException, InterruptedException {
    for (int i = 0; i < 1000; i++) {
      JsonNode pool =
          JSON.readTree(http.get("/api/v1/settings/sandbox/pool-summary")).get("per_image").get(0);
      if (pool.get("idle_count").asInt() >= Math.min(idle, pool.get("target").asInt())) {
        return;
      }
      Thread.sleep(5);
    }
    throw new IOException("the pool was not filled within 5 s");
  }

  private static String create(HttpConnection http) throws IOException {
    return JSON.readTree(http.post(SANDBOXES, "{}")).get("id").asText();
  }
}
