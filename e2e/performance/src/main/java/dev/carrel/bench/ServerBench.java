package dev.carrel.bench;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;

/** What users do, through REST, one kept-alive connection a client. */
final class ServerBench {
  private static final String SANDBOXES = "/api/v1/sandboxes";
  private static final String HEALTH = "GET /health";
  private static final String ONE_PLUS_ONE = "{\"language\":\"python\",\"code\":\"1+1\"}";
  private static final String PLAIN = "{\"language\":\"python\",\"preload\":\"plain\"}";
  private static final String DATA = "{\"language\":\"python\",\"preload\":\"data\"}";
  private static final String LOADED = "IPython, numpy, pandas, matplotlib loaded";
  private static final String MODULES =
      "['IPython.core.interactiveshell', 'numpy', 'pandas', 'matplotlib.pyplot']";
  private static final long WARM_NANOS = 60_000_000_000L;
  private static final String TRUE = "{\"command\":[\"/bin/true\"]}";
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int SPACING_MILLIS = 50;
  private static final int BREATH_MILLIS = 5;
  private static final int MAX_ALIVE = 50;
  private static final int MANY = 100;
  private static final int FIRST = 20;
  // Per sample that is taken afterwards: the compiler's thresholds are counted in thousands.
  private static final int USE = 10;
  private static final int LIVES = 8;

  private final ServerProcess server;
  private final Report report;
  private final int count;

  ServerBench(ServerProcess server, Report report, int count) {
    this.server = server;
    this.report = report;
    this.count = count;
  }

  void measure() throws Exception {
    try (HttpConnection http = server.connect()) {
      justStarted(http);
      use(http);
      report.add(Row.floor(HEALTH, Samples.time(count * 5, 0, () -> http.get("/health"))));
      String box = create(http);
      inOneSandbox(http, SANDBOXES + "/" + box);
      http.delete(SANDBOXES + "/" + box);
      creates(http, "create in a series", BREATH_MILLIS);
      lives(http);
    }
  }

  static Map<String, String> nothingAhead() {
    return Map.of("CARREL_POOL_AHEAD", "0");
  }

  /** For a server with {@link #nothingAhead}, after {@link #warmUp}. */
  void cold() throws Exception {
    try (HttpConnection http = server.connect()) {
      creates(http, "cold create", SPACING_MILLIS);
    }
  }

  /** What the first requests take, while the machine code of their paths is being made. */
  private void justStarted(HttpConnection http) throws Exception {
    Samples creates = Samples.time(FIRST, 0, () -> delete(http, create(http)));
    report.add(Row.floor("first creates and deletes after the start", creates));
    String box = SANDBOXES + "/" + create(http);
    Samples execs = Samples.time(FIRST, 0, () -> http.post(box + "/exec", TRUE));
    report.add(Row.floor("first execs after the start", execs));
    http.delete(box);
  }

  void warmUp() throws Exception {
    try (HttpConnection http = server.connect()) {
      use(http);
    }
  }

  /** Brings the server to where it is after some minutes of work. */
  private void use(HttpConnection http) throws Exception {
    String box = SANDBOXES + "/" + create(http);
    for (int i = 0; i < count * USE; i++) {
      http.post(box + "/code", ONE_PLUS_ONE);
      http.post(box + "/exec", TRUE);
    }
    http.delete(box);
    for (int i = 0; i < count * LIVES; i++) {
      String one = create(http);
      http.post(SANDBOXES + "/" + one + "/code", ONE_PLUS_ONE);
      delete(http, one);
    }
  }

  private static String delete(HttpConnection http, String box) throws IOException {
    http.delete(SANDBOXES + "/" + box);
    return box;
  }

  private void inOneSandbox(HttpConnection http, String box) throws Exception {
    Callable<?> code = () -> http.post(box + "/code", ONE_PLUS_ONE);
    report.add(
        Row.latency("code 1+1 in a live context", Samples.time(count * 5, 0, code), 0.6, HEALTH));
    report.add(
        Row.latency(
            "code 1+1, one every 50 ms",
            Samples.time(count / 2, SPACING_MILLIS, code),
            0.6,
            HEALTH));
    Callable<?> exec = () -> http.post(box + "/exec", TRUE);
    report.add(Row.latency("exec true", Samples.time(count * 2, 0, exec), 2, Peers.RUNC_EXEC));
    report.add(
        Row.latency(
            "exec true, one every 50 ms",
            Samples.time(count / 2, SPACING_MILLIS, exec),
            2,
            Floors.SPAWN));
    report.add(Row.note("code 1+1: switches of the server's threads", switches(code), ""));
    report.add(Row.note("exec true: switches of the server's threads", switches(exec), ""));
  }

  /** For each call. Unlike its time, it hardly depends on what else the machine does. */
  private double switches(Callable<?> call) throws Exception {
    long before = server.switches();
    for (int i = 0; i < count; i++) {
      call.call();
    }
    return (server.switches() - before) / (double) count;
  }

  private void creates(HttpConnection http, String what, int gapMillis) throws Exception {
    Deque<String> made = new ArrayDeque<>();
    Samples bare =
        Samples.time(
            count,
            gapMillis,
            () -> makeRoom(http, made),
            () -> {
              made.add(create(http));
              return null;
            });
    deleteAll(http, made);
    report.add(
        Row.latency(what + " until the guest answers", bare, 5, null).against(Floors.LAUNCH));
    awaitWarm(http, PLAIN);
    Samples first =
        Samples.time(
            count / 2,
            gapMillis,
            () -> makeRoom(http, made),
            () -> {
              String box = create(http);
              made.add(box);
              return http.post(SANDBOXES + "/" + box + "/code", ONE_PLUS_ONE);
            });
    deleteAll(http, made);
    report.add(
        Row.latency(what + " until the first Python result", first, 8, null)
            .against(Floors.PYTHON));
    data(http, made, gapMillis);
  }

  private void data(HttpConnection http, Deque<String> made, int gapMillis) throws Exception {
    String name = "the same with " + LOADED;
    if (!loadsData(http, name)) {
      return;
    }
    Samples data =
        Samples.time(
            count / 2,
            gapMillis,
            () -> makeRoom(http, made),
            () -> {
              String box = create(http);
              made.add(box);
              return inContext(http, SANDBOXES + "/" + box, DATA, "1+1");
            });
    deleteAll(http, made);
    report.add(Row.latency(name, data, 18, null).against(Floors.DATA));
  }

  private void lives(HttpConnection http) throws Exception {
    Callable<?> life =
        () -> {
          String box = create(http);
          http.post(SANDBOXES + "/" + box + "/exec", TRUE);
          return delete(http, box);
        };
    Samples cycle = Samples.time(count, 0, life);
    report.add(
        Row.rate("create+exec+delete, one stream", 1000 / cycle.p50Millis(), "/s", 150.0)
            .against(Floors.LIFE));
    report.add(
        Row.note("create+exec+delete: switches of the server's threads", switches(life), ""));
  }

  void memory() throws Exception {
    int boxes = 20;
    try (HttpConnection http = server.connect()) {
      List<String> made = new ArrayList<>();
      for (int i = 0; i < boxes; i++) {
        made.add(create(http));
      }
      awaitWarm(http, PLAIN);
      report.add(Row.figure("idle sandbox", Memory.perSandbox(made), "MiB", 0.6));
      for (String box : made) {
        http.post(SANDBOXES + "/" + box + "/code", ONE_PLUS_ONE);
      }
      report.add(
          Row.figure(
              "idle sandbox with a plain Python context", Memory.perSandbox(made), "MiB", 2.5));
      deleteAll(http, made);
      memoryWithData(http, made, boxes);
      deleteAll(http, made);
    }
  }

  private void memoryWithData(HttpConnection http, List<String> made, int boxes) throws Exception {
    String name = "idle sandbox with " + LOADED;
    if (!loadsData(http, name)) {
      return;
    }
    withData(http, made, boxes);
    report.add(Row.note(name + ", one of " + boxes, Memory.perSandbox(made), "MiB"));
    // What they share, over 80 MiB, is most of that while they are few: the goal is for many.
    withData(http, made, MANY);
    report.add(Row.figure(name + ", one of " + MANY, Memory.perSandbox(made), "MiB", 5));
  }

  private static void withData(HttpConnection http, List<String> made, int count)
      throws IOException {
    while (made.size() < count) {
      made.add(create(http));
      inContext(http, SANDBOXES + "/" + made.getLast(), DATA, "1+1");
    }
  }

  /** Contexts start from scratch until the first one has brought up a warm interpreter. */
  private static void awaitWarm(HttpConnection http, String preload) throws Exception {
    String box = create(http);
    long end = System.nanoTime() + WARM_NANOS;
    boolean warm = false;
    while (!warm && System.nanoTime() < end) {
      JsonNode context = JSON.readTree(http.post(SANDBOXES + "/" + box + "/contexts", preload));
      warm = context.get("start").asText().equals("zygote");
      http.delete(SANDBOXES + "/" + box + "/contexts/" + context.get("id").asText());
    }
    http.delete(SANDBOXES + "/" + box);
  }

  /**
   * An image without them has a warm interpreter all the same, which is quick: with nothing in it.
   */
  private boolean loadsData(HttpConnection http, String name) throws Exception {
    awaitWarm(http, DATA);
    String box = SANDBOXES + "/" + create(http);
    String missing = "import sys; [m for m in %s if m not in sys.modules]".formatted(MODULES);
    String answer = inContext(http, box, DATA, missing);
    http.delete(box);
    boolean all = answer.contains("\"[]\"");
    if (!all) {
      report.notRun(
          name,
          "not all of them are there (apt-get install python3-ipython python3-matplotlib"
              + " python3-pandas)");
    }
    return all;
  }

  private static String inContext(HttpConnection http, String box, String preload, String code)
      throws IOException {
    String context = JSON.readTree(http.post(box + "/contexts", preload)).get("id").asText();
    return http.post(
        box + "/code", "{\"context_id\":\"%s\",\"code\":\"%s\"}".formatted(context, code));
  }

  void throughput() throws Exception {
    long bytes = 1L << 30;
    try (HttpConnection http = server.connect()) {
      String box = SANDBOXES + "/" + create(http);
      double before = server.residentMebibytes();
      long start = System.nanoTime();
      String command =
          "{\"command\":\"head -c %d /dev/zero\",\"timeout_seconds\":60}".formatted(bytes);
      http.post(box + "/exec", command);
      double seconds = (System.nanoTime() - start) / 1e9;
      report.add(Row.rate("1 GiB of stdout", bytes / 1e6 / seconds, "MB/s", 500.0));
      report.add(
          Row.figure(
              "server's memory growth meanwhile", server.residentMebibytes() - before, "MiB", 64));
      http.delete(box);
    }
  }

  private static String create(HttpConnection http) throws IOException {
    return JSON.readTree(http.post(SANDBOXES, "{}")).get("id").asText();
  }

  /** Deletes the oldest, off the clock: a tenant may have so many and no more. */
  private static void makeRoom(HttpConnection http, Deque<String> made) throws IOException {
    if (made.size() >= MAX_ALIVE) {
      http.delete(SANDBOXES + "/" + made.remove());
    }
  }

  private static void deleteAll(HttpConnection http, Collection<String> boxes) throws IOException {
    for (String box : boxes) {
      http.delete(SANDBOXES + "/" + box);
    }
    boxes.clear();
  }
}
