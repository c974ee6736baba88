package dev.carrel.bench;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;

/** The same through each engine of this host: a sandbox until its guest answers, and a command. */
final class EngineBench {
  private static final String SANDBOXES = "/api/v1/sandboxes";
  private static final String TRUE = "{\"command\":[\"/bin/true\"]}";
  private static final String FIRST = "native";
  private static final int USE = 2;
  private static final int MAX_CREATES = 20;

  private final ServerProcess server;
  private final Report report;

  EngineBench(ServerProcess server, Report report) {
    this.server = server;
    this.report = report;
  }

  /** All that are there may be used, and each box is made when it is asked for. */
  static Map<String, String> settings() {
    return Map.of("CARREL_POOL_SIZES", "");
  }

  void measure(int count) throws Exception {
    try (HttpConnection http = server.connect()) {
      List<String> engines = usable(http);
      for (String engine : engines) {
        measure(http, engine, count);
      }
    }
  }

  /** The one that others are compared with comes first. */
  private List<String> usable(HttpConnection http) throws IOException {
    var names = new ArrayList<String>();
    for (JsonNode engine :
        new ObjectMapper().readTree(http.get("/api/v1/engines")).get("engines")) {
      String name = engine.get("name").asText();
      if (engine.get("usable").asBoolean() && isolates(engine)) {
        names.add(name.equals(FIRST) ? 0 : names.size(), name);
      } else {
        report.notRun(name, why(engine));
      }
    }
    return names;
  }

  private static boolean isolates(JsonNode engine) {
    return !engine.get("isolation").asText().equals("none");
  }

  private static String why(JsonNode engine) {
    if (engine.get("usable").asBoolean()) {
      return "it isolates nothing, and is not allowed unless the operator says so";
    }
    var problems = new ArrayList<String>();
    engine.get("problems").forEach(problem -> problems.add(problem.asText()));
    return String.join("; ", problems);
  }

  private void measure(HttpConnection http, String engine, int count) throws Exception {
    String spec = "{\"engine\":\"" + engine + "\",\"isolated\":true}";
    String box = create(http, spec);
    try {
      Callable<?> exec = () -> http.post(box + "/exec", TRUE);
      for (int i = 0; i < count * USE; i++) {
        exec.call();
      }
      add("exec true", engine, Samples.time(count, 0, exec));
    } finally {
      http.delete(box);
    }
    var made = new ArrayList<String>();
    Samples creates =
        Samples.time(
            Math.min(count, MAX_CREATES),
            0,
            () -> deleteAll(http, made),
            () -> made.add(create(http, spec)));
    deleteAll(http, made);
    add("create", engine, creates);
  }

  private void add(String operation, String engine, Samples samples) {
    report.add(
        new Row(
            name(operation, engine),
            samples.p50Millis(),
            samples.p95Millis(),
            "ms",
            null,
            true,
            engine.equals(FIRST) ? null : name(operation, FIRST)));
  }

  private static String name(String operation, String engine) {
    return operation + ", " + engine;
  }

  private static String create(HttpConnection http, String spec) throws IOException {
    return SANDBOXES
        + "/"
        + new ObjectMapper().readTree(http.post(SANDBOXES, spec)).get("id").asText();
  }

  private static void deleteAll(HttpConnection http, List<String> boxes) throws IOException {
    for (String box : boxes) {
      http.delete(box);
    }
    boxes.clear();
  }
}
