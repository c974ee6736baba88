package dev.carrel.bench;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The same through each engine of this host: a sandbox until its guest answers, and a command; and
 * what it costs that an image has many files. Engines take turns, so that none is measured while
 * the server is colder, or the machine busier, than for the others.
 */
final class EngineBench {
  private static final String SANDBOXES = "/api/v1/sandboxes";
  private static final String TRUE = "{\"command\":[\"/bin/true\"]}";
  private static final String FIRST = "native";
  private static final String HOST = "host";
  private static final String FEW = "few-files";
  private static final String MANY = "many-files";
  private static final int FILES = 10_000;
  private static final int FILES_A_FOLDER = 100;
  private static final double MOST = 1.2;
  private static final int MAX_CREATES = 20;
  private static final int DISCARDED = 2;

  private final ServerProcess server;
  private final Report report;

  EngineBench(ServerProcess server, Report report) {
    this.server = server;
    this.report = report;
  }

  /**
   * All engines that are there may be used, and each box is made when it is asked for.
   *
   * @param scratch where the images are made
   */
  static Map<String, String> settings(Path scratch) throws IOException {
    Path few = image(scratch.resolve(FEW), 1);
    Path many = image(scratch.resolve(MANY), FILES / FILES_A_FOLDER);
    return Map.of(
        "CARREL_POOL_SIZES",
        "",
        "CARREL_SANDBOX_IMAGES",
        FEW + "=" + few + "," + MANY + "=" + many);
  }

  private static Path image(Path root, int folders) throws IOException {
    for (int folder = 0; folder < folders; folder++) {
      Path share = Files.createDirectories(root.resolve("usr/share").resolve("f" + folder));
      for (int file = 0; file < FILES_A_FOLDER; file++) {
        Files.writeString(share.resolve("f" + file), "x");
      }
    }
    return root;
  }

  void measure(int count) throws Exception {
    try (HttpConnection http = server.connect()) {
      List<String> engines = usable(http);
      exec(http, engines, count);
      int creates = Math.min(count / 4, MAX_CREATES);
      Map<String, Samples> host = creates(http, engines, List.of(HOST), creates);
      engines.forEach(engine -> add("create", engine, host.get(on(engine, HOST))));
      images(engines, creates(http, engines, List.of(FEW, MANY), creates));
    }
  }

  private void exec(HttpConnection http, List<String> engines, int count) throws Exception {
    var boxes = new LinkedHashMap<String, String>();
    try {
      for (String engine : engines) {
        boxes.put(engine, create(http, engine, HOST));
      }
      Map<String, Samples> samples =
          Samples.inTurns(
              engines,
              count / 2,
              count,
              engine -> http.post(boxes.get(engine) + "/exec", TRUE),
              answer -> {});
      samples.forEach((engine, all) -> add("exec true", engine, all));
    } finally {
      for (String box : boxes.values()) {
        http.delete(box);
      }
    }
  }

  private record Place(String engine, String image) {}

  private static Map<String, Samples> creates(
      HttpConnection http, List<String> engines, List<String> images, int count) throws Exception {
    var places = new LinkedHashMap<String, Place>();
    for (String engine : engines) {
      images.forEach(image -> places.put(on(engine, image), new Place(engine, image)));
    }
    return Samples.inTurns(
        List.copyOf(places.keySet()),
        DISCARDED,
        count,
        name -> {
          Place place = Objects.requireNonNull(places.get(name));
          return create(http, place.engine(), place.image());
        },
        http::delete);
  }

  private void images(List<String> engines, Map<String, Samples> samples) {
    for (String engine : engines) {
      Samples few = Objects.requireNonNull(samples.get(on(engine, FEW)));
      Samples many = Objects.requireNonNull(samples.get(on(engine, MANY)));
      report.add(Row.floor(name("create, image of 100 files", engine), few));
      report.add(Row.floor(name("create, image of 10,000 files", engine), many));
      double ratio = many.p50Millis() / few.p50Millis();
      report.add(Row.figure(name("10,000 files to 100", engine), ratio, "×", MOST));
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

  private void add(String operation, String engine, @Nullable Samples taken) {
    Samples samples = Objects.requireNonNull(taken);
    report.add(
        new Row(
            name(operation, engine),
            samples.p50Millis(),
            samples.p95Millis(),
            "ms",
            null,
            true,
            engine.equals(FIRST) ? null : name(operation, FIRST),
            null));
  }

  private static String name(String operation, String engine) {
    return operation + ", " + engine;
  }

  private static String on(String engine, String image) {
    return engine + " " + image;
  }

  private static String create(HttpConnection http, String engine, String image)
      throws IOException {
    String spec = "{\"engine\":\"%s\",\"image\":\"%s\",\"isolated\":true}".formatted(engine, image);
    return SANDBOXES
        + "/"
        + new ObjectMapper().readTree(http.post(SANDBOXES, spec)).get("id").asText();
  }
}
