package dev.carrel.bench;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Many idle sandboxes with a Python context each, and then all of them used at once. */
public final class Density {
  private static final String SANDBOXES = "/api/v1/sandboxes";
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int CLIENTS = 16;
  private static final int SAMPLE = 20;

  private final ServerProcess server;
  private final Queue<String> failures = new ConcurrentLinkedQueue<>();

  public Density(ServerProcess server) {
    this.server = server;
  }

  /** What the server must be told to have so many. */
  public static Map<String, String> settings(int count) {
    String most = String.valueOf(count + SAMPLE);
    return Map.of("CARREL_SANDBOX_MAX_COUNT", most, "CARREL_SANDBOX_MAX_COUNT_PER_TENANT", most);
  }

  /** What failed, of anything; empty when all is well. */
  public List<String> failures() {
    return List.copyOf(failures);
  }

  void run(Report report, int count, String fields, String coldFields) throws Exception {
    double server0 = server.residentMebibytes();
    long start = System.nanoTime();
    List<String> boxes = fill(count, fields);
    report.add(
        Row.rate(
            "%d sandboxes with a Python context".formatted(boxes.size()),
            boxes.size() / ((System.nanoTime() - start) / 1e9),
            "/s",
            null));
    report.add(
        Row.figure("idle sandbox with a Python context", Memory.perSandbox(boxes), "MiB", 2.5));
    report.add(
        Row.figure(
            "server's memory for each",
            (server.residentMebibytes() - server0) / Math.max(1, boxes.size()),
            "MiB",
            0.5));
    start = System.nanoTime();
    useAll(boxes);
    report.add(
        Row.rate(
            "exec and code in each of them",
            boxes.size() / ((System.nanoTime() - start) / 1e9),
            "/s",
            null));
    report.add(Row.figure("sandboxes that failed", failures.size(), "", 0));
    List<String> cold = fill(SAMPLE, coldFields);
    report.add(Row.note("the same, started cold", Memory.perSandbox(cold), "MiB"));
    removeAll(boxes);
    removeAll(cold);
  }

  /** Creates them and gives each interpreter something to remember. */
  public List<String> fill(int count, String fields) throws IOException, InterruptedException {
    Queue<String> made = new ConcurrentLinkedQueue<>();
    List<Integer> numbers = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      numbers.add(i);
    }
    forAll(
        numbers,
        (http, _) -> {
          String id = JSON.readTree(http.post(SANDBOXES, fields)).get("id").asText();
          made.add(id);
          code(http, id, "mine = '" + id + "'");
        });
    return List.copyOf(made);
  }

  /** Runs a command in each, and asks each interpreter what it remembers. */
  public void useAll(List<String> boxes) throws IOException, InterruptedException {
    forAll(
        boxes,
        (http, id) -> {
          http.post(SANDBOXES + "/" + id + "/exec", "{\"command\":[\"/bin/true\"]}");
          if (!code(http, id, "mine").contains("'" + id + "'")) {
            failures.add(id + " does not remember what it was told");
          }
        });
  }

  public void removeAll(List<String> boxes) throws IOException, InterruptedException {
    forAll(boxes, (http, id) -> http.delete(SANDBOXES + "/" + id));
  }

  private static String code(HttpConnection http, String id, String code) throws IOException {
    return http.post(
        SANDBOXES + "/" + id + "/code",
        "{\"language\":\"python\",\"timeout_seconds\":60,\"code\":\"%s\"}".formatted(code));
  }

  /** What is done to one of many. */
  private interface Step<T> {
    void run(HttpConnection http, T item) throws IOException;
  }

  /** A failure of one is written down and does not keep the others from their turn. */
  private <T> void forAll(List<T> items, Step<T> step) throws IOException, InterruptedException {
    Queue<T> waiting = new ConcurrentLinkedQueue<>(items);
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      List<Future<?>> clients = new ArrayList<>();
      for (int i = 0; i < CLIENTS; i++) {
        clients.add(
            threads.submit(
                () -> {
                  for (T item = waiting.poll(); item != null; item = waiting.poll()) {
                    try (HttpConnection http = server.connect()) {
                      step.run(http, item);
                    } catch (IOException e) {
                      failures.add(item + ": " + e.getMessage());
                    }
                  }
                }));
      }
      for (Future<?> client : clients) {
        client.get();
      }
    } catch (java.util.concurrent.ExecutionException e) {
      throw new IOException("a client failed", e.getCause());
    }
  }
}
