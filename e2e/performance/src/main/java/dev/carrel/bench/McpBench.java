package dev.carrel.bench;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;

/**
 * How soon an agent's program that starts {@code carrel mcp} has its first answer, and what it adds
 * to come by MCP: the same code in the same sandbox, by a tool and by REST.
 */
final class McpBench {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String VERSION = "2026-07-28";
  private static final String GREETING =
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\","
          + "\"capabilities\":{},\"clientInfo\":{\"name\":\"bench\",\"version\":\"1\"}}}";
  private static final Map<String, String> HEADERS =
      Map.of(
          "Accept",
          "application/json, text/event-stream",
          "MCP-Protocol-Version",
          VERSION,
          "Mcp-Method",
          "tools/call",
          "Mcp-Name",
          "execute_code");

  private final ServerProcess server;
  private final Report report;

  McpBench(ServerProcess server, Report report) {
    this.server = server;
    this.report = report;
  }

  /** Each time with a server of its own: none runs. */
  static void measureStart(Path home, Path scratch, int count, Report report) throws Exception {
    long[] times = new long[count];
    for (int i = 0; i < count; i++) {
      Path folder = scratch.resolve("mcp-" + i);
      ProcessBuilder program = ServerProcess.program(home, folder, Map.of(), "mcp");
      program.redirectError(folder.resolve("mcp.log").toFile());
      long begin = System.nanoTime();
      Process process = program.start();
      try (var in = process.getOutputStream();
          var out = process.inputReader()) {
        in.write((GREETING + "\n").getBytes(StandardCharsets.UTF_8));
        in.flush();
        String answer = out.readLine();
        times[i] = System.nanoTime() - begin;
        if (answer == null || !answer.contains("serverInfo")) {
          throw new IOException("carrel mcp answered " + answer);
        }
      } finally {
        if (!process.waitFor(Duration.ofSeconds(20))) {
          process.destroyForcibly();
        }
      }
    }
    report.add(
        Row.latency("carrel mcp until it has answered, no server", Samples.of(times), 1000, null));
  }

  void measure(int count) throws Exception {
    try (HttpConnection http = server.connect()) {
      String id = JSON.readTree(http.post("/api/v1/sandboxes", "{}")).get("id").asText();
      String box = "/api/v1/sandboxes/" + id;
      try {
        compare(http, box + "/code", call(id), count);
      } finally {
        http.delete(box);
      }
    }
  }

  private void compare(HttpConnection http, String code, String call, int count) throws Exception {
    long[] rest = new long[count];
    long[] tool = new long[count];
    // In turns, so that whatever else the machine does meets both.
    for (int i = -3 * count; i < count; i++) {
      long begin = System.nanoTime();
      http.post(code, "{\"language\":\"python\",\"code\":\"1+1\"}");
      long middle = System.nanoTime();
      String answer = http.post("/mcp", call, HEADERS);
      long end = System.nanoTime();
      if (!answer.contains("\"result\"") || answer.contains("\"isError\":true")) {
        throw new IOException("the tool answered " + answer);
      }
      if (i >= 0) {
        rest[i] = middle - begin;
        tool[i] = end - middle;
      }
    }
    Samples straight = Samples.of(rest);
    Samples called = Samples.of(tool);
    report.add(Row.floor("code 1+1 by REST, beside MCP", straight));
    report.add(Row.floor("code 1+1 by an MCP tool", called));
    report.add(
        Row.figure(
            "MCP: times the REST call", called.p50Millis() / straight.p50Millis(), "x", 1.5));
  }

  private static String call(String sandbox) throws IOException {
    return JSON.writeValueAsString(
        Map.of(
            "jsonrpc",
            "2.0",
            "id",
            1,
            "method",
            "tools/call",
            "params",
            Map.of(
                "name",
                "execute_code",
                "arguments",
                Map.of("session_id", sandbox, "code", "1+1"),
                "_meta",
                Map.of(
                    "io.modelcontextprotocol/protocolVersion",
                    VERSION,
                    "io.modelcontextprotocol/clientCapabilities",
                    Map.of()))));
  }
}
