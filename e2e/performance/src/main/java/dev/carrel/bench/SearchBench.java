package dev.carrel.bench;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.util.List;
import java.util.Map;

/** Finding lines in a large tree, beside ripgrep in the same sandbox. */
final class SearchBench {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int ROUNDS = 7;

  // A tree as large as a big repository; one file in a thousand has what is looked for.
  private static final String TREE =
      """
      import os
      for folder in range(500):
          os.makedirs(f"tree/{folder % 20}/{folder}")
          for name in range(100):
              number = folder * 100 + name
              lines = [f"value_{number}_{line} = compute({line}, offset={number})" for line in range(30)]
              if number % 1000 == 7:
                  lines[15] = f"def handler_{number}(request): return needle"
              with open(f"tree/{folder % 20}/{folder}/module_{name}.py", "w") as out:
                  out.write("\\n".join(lines) + "\\n")
      """;

  private final ServerProcess server;
  private final Report report;

  SearchBench(ServerProcess server, Report report) {
    this.server = server;
    this.report = report;
  }

  void measure() throws Exception {
    try (HttpConnection http = server.connect()) {
      String id = JSON.readTree(http.post("/api/v1/sandboxes", "{}")).get("id").asText();
      String box = "/api/v1/sandboxes/" + id;
      try {
        exec(http, box, List.of("python3", "-c", TREE));
        compare(http, box, "plain text", "needle", true);
        compare(http, box, "an expression", "handler_[0-9]+7[(]", false);
      } finally {
        http.delete(box);
      }
    }
  }

  private void compare(HttpConnection http, String box, String name, String pattern, boolean fixed)
      throws Exception {
    String request =
        JSON.writeValueAsString(Map.of("pattern", pattern, "path", "tree", "fixed", fixed));
    List<String> command =
        List.of(
            "rg",
            "--line-number",
            "--no-ignore",
            fixed ? "--fixed-strings" : "--no-fixed-strings",
            pattern,
            "tree");
    long[] ours = new long[ROUNDS];
    long[] theirs = new long[ROUNDS];
    // In turns, so that whatever else the machine does meets both.
    for (int i = -1; i < ROUNDS; i++) {
      long begin = System.nanoTime();
      int found = JSON.readTree(http.post(box + "/fs/grep", request)).get("match_count").asInt();
      long middle = System.nanoTime();
      String lines = exec(http, box, command);
      long end = System.nanoTime();
      if (found != lines.lines().count()) {
        throw new IOException(found + " matches and " + lines.lines().count() + " of ripgrep");
      }
      if (i >= 0) {
        ours[i] = middle - begin;
        theirs[i] = end - middle;
      }
    }
    Samples grep = Samples.of(ours);
    Samples peer = Samples.of(theirs);
    report.add(Row.floor("peer: ripgrep in 50,000 files, " + name, peer));
    report.add(Row.floor("grep in 50,000 files, " + name, grep));
    report.add(
        Row.rate(
            "grep: part of ripgrep's speed, " + name,
            100 * peer.p50Millis() / grep.p50Millis(),
            "%",
            50.0));
  }

  private static String exec(HttpConnection http, String box, List<String> command)
      throws IOException {
    var answer =
        JSON.readTree(
            http.post(
                box + "/exec",
                JSON.writeValueAsString(Map.of("command", command, "timeout_seconds", 120))));
    if (answer.get("exit_code").asInt() != 0) {
      throw new IOException(command.getFirst() + " ended with " + answer);
    }
    return answer.get("stdout").asText();
  }
}
