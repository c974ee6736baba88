package dev.carrel.e2e.functional;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.carrel.bench.ServerProcess;
import dev.carrel.e2e.Api;
import dev.carrel.e2e.Box;
import dev.carrel.e2e.Carrel;
import dev.carrel.engine.testkit.Eventually;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What was acknowledged is on record, and the chain is whole, after each kill −9 of the server. */
class AuditCrashIT {
  private static final int KILLS = 5;
  private static final int CLIENTS = 4;
  private static final int ENOUGH = 40;

  @TempDir private Path folder;

  @Test
  void noAcknowledgedExecIsMissingAfterAnyOfManyKills() throws Exception {
    var acknowledged = new HashSet<String>();
    String sandbox = null;
    for (int kill = 0; kill <= KILLS; kill++) {
      try (ServerProcess server = Carrel.start(folder)) {
        Api api = new Api(server.address(), server.token());
        JsonNode verdict = api.post("/api/v1/audit/verify", Api.object()).json();
        assertThat(verdict.get("intact").asBoolean()).as(verdict.toString()).isTrue();
        assertThat(recorded(api)).containsAll(acknowledged);
        if (kill == KILLS) {
          assertThat(acknowledged).hasSizeGreaterThanOrEqualTo(KILLS * ENOUGH);
          api.call("DELETE", "/api/v1/sandboxes/" + sandbox, "");
          return;
        }
        Box box = sandbox == null ? api.create("{}") : new Box(api, sandbox, Api.object());
        sandbox = box.id();
        acknowledged.addAll(workUntilKilled(server, api, box));
      }
    }
  }

  /** Runs commands on many connections, and kills the server in the midst of them. */
  private static List<String> workUntilKilled(ServerProcess server, Api api, Box box)
      throws Exception {
    Queue<String> done = new ConcurrentLinkedQueue<>();
    var clients = new ArrayList<Thread>();
    for (int i = 0; i < CLIENTS; i++) {
      clients.add(Thread.ofVirtual().start(() -> work(api, box, done)));
    }
    Eventually.holds("some work", Duration.ofMinutes(2), () -> done.size() >= ENOUGH);
    server.kill();
    for (Thread client : clients) {
      client.join();
    }
    return List.copyOf(done);
  }

  private static void work(Api api, Box box, Queue<String> done) {
    try {
      while (true) {
        JsonNode result =
            api.post(box.path() + "/exec", Api.object().put("command", "true")).json();
        done.add(result.get("id").asText());
      }
    } catch (RuntimeException | AssertionError killed) {
      // The server dies under this call: that is the test.
      return;
    }
  }

  private static Set<String> recorded(Api api) {
    var found = new HashSet<String>();
    long after = 0;
    while (true) {
      JsonNode page = api.get("/api/v1/audit?action=exec.run&limit=1000&after=" + after).json();
      for (JsonNode record : page.get("records")) {
        found.add(record.get("subject").asText());
        after = record.get("sequence").asLong();
      }
      if (page.get("next").isNull()) {
        return found;
      }
    }
  }
}
