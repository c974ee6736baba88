package dev.carrel.bench;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.util.Map;

/**
 * What it costs to put executions on record: two servers, one of which records nothing, called in
 * turn, so that whatever else the machine does happens to both.
 */
final class AuditBench {
  private static final String SANDBOXES = "/api/v1/sandboxes";
  private static final String TRUE = "{\"command\":[\"/bin/true\"]}";
  private static final String ONE_PLUS_ONE = "{\"language\":\"python\",\"code\":\"1+1\"}";
  private static final double MOST = 1.05;
  // Both servers must have compiled what they run: that takes some thousand calls.
  private static final int WARM_UP = 4;
  private static final ObjectMapper JSON = new ObjectMapper();

  private final ServerProcess recording;
  private final ServerProcess silent;
  private final Report report;

  AuditBench(ServerProcess recording, ServerProcess silent, Report report) {
    this.recording = recording;
    this.silent = silent;
    this.report = report;
  }

  /** For the server that records nothing. */
  static Map<String, String> silence() {
    return Map.of("CARREL_AUDIT_ENABLED", "false");
  }

  void measure(int count) throws Exception {
    try (HttpConnection with = recording.connect();
        HttpConnection without = silent.connect()) {
      String there = create(with);
      String here = create(without);
      compare("code 1+1", count * 5, with, there + "/code", without, here + "/code", ONE_PLUS_ONE);
      compare("exec true", count * 4, with, there + "/exec", without, here + "/exec", TRUE);
      with.delete(there);
      without.delete(here);
    }
  }

  private void compare(
      String name,
      int count,
      HttpConnection with,
      String there,
      HttpConnection without,
      String here,
      String body)
      throws Exception {
    for (int i = 0; i < count * WARM_UP; i++) {
      with.post(there, body);
      without.post(here, body);
    }
    long[] on = new long[count];
    long[] off = new long[count];
    for (int i = 0; i < count; i++) {
      long begin = System.nanoTime();
      with.post(there, body);
      long middle = System.nanoTime();
      without.post(here, body);
      on[i] = middle - begin;
      off[i] = System.nanoTime() - middle;
    }
    double recorded = Samples.of(on).p50Millis();
    double plain = Samples.of(off).p50Millis();
    report.add(Row.note(name + ", not recorded", plain, "ms"));
    report.add(Row.note(name + ", recorded", recorded, "ms"));
    report.add(Row.figure(name + ", recorded / not recorded", recorded / plain, "x", MOST));
  }

  private static String create(HttpConnection http) throws IOException {
    JsonNode made = JSON.readTree(http.post(SANDBOXES, "{}"));
    return SANDBOXES + "/" + made.get("id").asText();
  }
}
