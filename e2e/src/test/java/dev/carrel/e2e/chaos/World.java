package dev.carrel.e2e.chaos;

import com.fasterxml.jackson.databind.JsonNode;
import dev.carrel.bench.ServerProcess;
import dev.carrel.e2e.Api;
import dev.carrel.e2e.Carrel;
import dev.carrel.engine.testkit.Eventually;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;

/** One server after another on the same folder, and what can be seen of them from the host. */
final class World implements AutoCloseable {
  private static final Duration PATIENCE = Duration.ofSeconds(30);
  private static final Map<String, String> WITH_POOL =
      Map.of("CARREL_POOL_SIZES", "host=1-2", "CARREL_POOL_LANGUAGES", "host=python");
  private static final String BELOW_SANDBOX = "/api/v1/sandboxes/{id}/";

  private final Path folder;
  private ServerProcess server;
  private Api api;

  World(Path folder) throws Exception {
    this(folder, WITH_POOL);
  }

  World(Path folder, Map<String, String> settings) throws Exception {
    this.folder = folder;
    this.server = Carrel.start(folder, settings);
    this.api = new Api(server.address(), server.token());
  }

  Api api() {
    return api;
  }

  Path folder() {
    return folder;
  }

  Path database() {
    return folder.resolve("data/carrel.db");
  }

  /** As kill −9 does. */
  void killServer() {
    server.kill();
  }

  boolean serverRuns() {
    return server.runs();
  }

  void startServer() throws Exception {
    startServer(WITH_POOL);
  }

  /** Ends the server in order and starts one without warm sandboxes that tidies up at once. */
  void restartWithoutPool() throws Exception {
    server.close();
    startServer(Map.of("CARREL_SANDBOX_ORPHAN_MIN_AGE", "0s"));
  }

  void startServer(Map<String, String> settings) throws Exception {
    api.close();
    server = Carrel.start(folder, settings);
    api = new Api(server.address(), server.token());
  }

  /** What can be asked of a sandbox, by the server's own description. */
  Set<String> routes() {
    Set<String> routes = new TreeSet<>();
    Iterator<String> paths = api.get("/api/v1/openapi.json").json().get("paths").fieldNames();
    while (paths.hasNext()) {
      String path = paths.next();
      if (path.startsWith(BELOW_SANDBOX)) {
        routes.add(path.substring(BELOW_SANDBOX.length()));
      }
    }
    return routes;
  }

  /** The ids of all sandboxes that the server lists. */
  Set<String> listed() {
    Set<String> ids = new TreeSet<>();
    JsonNode page = api.get("/api/v1/sandboxes?page_size=100").json();
    page.get("items").forEach(box -> ids.add(box.get("id").asText()));
    return ids;
  }

  /** Lets go on what a client paused while another one's code ran in it, and waits for its end. */
  void resumePaused() {
    for (JsonNode box : api.get("/api/v1/sandboxes?page_size=100").json().path("items")) {
      if (box.get("status").asText().equals("paused")) {
        api.call("POST", "/api/v1/sandboxes/" + box.get("id").asText() + "/resume", "");
      }
    }
  }

  /** Removes every snapshot, also those whose making was never answered. */
  void removeSnapshots() {
    for (JsonNode snapshot : api.get("/api/v1/snapshots").json().path("snapshots")) {
      api.call("DELETE", "/api/v1/snapshots/" + snapshot.get("id").asText(), "");
    }
  }

  /** The ids of the sandboxes that the engine has a folder for. */
  Set<String> onDisk() throws IOException {
    Set<String> ids = new TreeSet<>();
    try (Stream<Path> entries = Files.list(folder.resolve("run"))) {
      entries
          .map(path -> path.getFileName().toString())
          .filter(Residue.ID.asMatchPredicate())
          .forEach(ids::add);
    }
    return ids;
  }

  /** PID 1 of a sandbox, as the host numbers it; empty when it has none just now. */
  Optional<ProcessHandle> guest(String id) throws IOException {
    Path state = folder.resolve("run").resolve(id).resolve("state");
    if (!Files.exists(state)) {
      return Optional.empty();
    }
    List<String[]> children =
        Files.readString(state)
            .lines()
            .filter(line -> line.startsWith("child "))
            .map(line -> line.split(" ", 3))
            .toList();
    if (children.isEmpty()) {
      return Optional.empty();
    }
    // The number alone may be another process's by now; its cgroup is the sandbox's own.
    String pid = children.getLast()[1];
    Path cgroup = Path.of("/proc", pid, "cgroup");
    return Files.exists(cgroup) && Files.readString(cgroup).contains(id)
        ? ProcessHandle.of(Long.parseLong(pid))
        : Optional.empty();
  }

  /** The process that makes the sandboxes of this folder. */
  Optional<ProcessHandle> spawnServer() {
    String run = folder.resolve("run").toString();
    return ProcessHandle.allProcesses()
        .filter(process -> Residue.commandLine(process.pid()).contains(" spawn --run " + run))
        .findFirst();
  }

  @Override
  public void close() {
    // Empty after a test that passed; after another one nothing may stay on the host either.
    if (server.runs()) {
      listed().forEach(id -> api.call("DELETE", "/api/v1/sandboxes/" + id, ""));
      removeSnapshots();
    }
    api.close();
    server.close();
    // The spawn server leaves when the last sandbox and the last client have gone.
    Eventually.holds("the spawn server has left", PATIENCE, () -> spawnServer().isEmpty());
  }
}
