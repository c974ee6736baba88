package dev.carrel.server.mcp;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.carrel.server.LiveServer;
import dev.carrel.server.SharedServer;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Messages that no client would send, over HTTP: each gets an answer of the protocol, and none of
 * them leaves anything in memory. The seed is in what a failure says; {@code -Dcarrel.fuzz.seed}
 * sets it.
 */
@ExtendWith(SharedServer.class)
class McpFuzzTest {
  private static final long SEED = Long.getLong("carrel.fuzz.seed", 20260728L);
  private static final int WARM = 150;
  private static final int ROUNDS = 600;
  private static final long MAX_GROWTH = 48L << 20;
  private static final JsonNodeFactory NODES = JsonNodeFactory.instance;

  private static final List<String> GOOD =
      List.of(
          "{\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{}}}",
          "{\"method\":\"ping\",\"params\":{}}",
          "{\"method\":\"tools/list\",\"params\":{\"cursor\":\"x\"}}",
          "{\"method\":\"tools/call\",\"params\":{\"name\":\"list_sessions\",\"arguments\":{},\"_meta\":{\"progressToken\":1}}}",
          "{\"method\":\"tools/call\",\"params\":{\"name\":\"validate_code\",\"arguments\":{\"code\":\"1\",\"language\":\"python\"}}}",
          "{\"method\":\"resources/list\",\"params\":{}}",
          "{\"method\":\"resources/read\",\"params\":{\"uri\":\"carrel://sandboxes/x/state\"}}",
          "{\"method\":\"resources/subscribe\",\"params\":{\"uri\":\"skill://a/SKILL.md\"}}",
          "{\"method\":\"resources/unsubscribe\",\"params\":{\"uri\":\"skill://a/SKILL.md\"}}",
          "{\"method\":\"prompts/get\",\"params\":{\"name\":\"analyze_data\",\"arguments\":{}}}",
          "{\"method\":\"completion/complete\",\"params\":{\"ref\":{\"type\":\"ref/resource\",\"uri\":\"skill://{name}/x\"},"
              + "\"argument\":{\"name\":\"name\",\"value\":\"a\"}}}",
          "{\"method\":\"logging/setLevel\",\"params\":{\"level\":\"info\"}}",
          "{\"method\":\"skills/get\",\"params\":{\"uri\":\"skill://a/SKILL.md\"}}",
          "{\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}",
          "{\"method\":\"server/discover\",\"params\":{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
              + "\"io.modelcontextprotocol/clientCapabilities\":{}}}}");

  private final LiveServer server;
  private final McpClient mcp;
  private final Random random = new Random(SEED);

  McpFuzzTest(LiveServer server) {
    this.server = server;
    this.mcp = new McpClient(server);
    mcp.initialize("{}");
  }

  @Test
  void everyMessageGetsAnAnswerAndNothingStays() {
    long before = 0;
    for (int i = 0; i < WARM + ROUNDS; i++) {
      if (i == WARM) {
        before = used();
      }
      byte[] body = body();
      McpClient.Answer answer = mcp.send(request(body));
      String what = "seed %d, message %d: %s".formatted(SEED, i, shown(body));
      assertThat(answer.status()).as(what).isIn(200, 202, 400, 404, 413, 429);
      if (answer.status() != 202) {
        assertThat(answer.last().isObject()).as(what).isTrue();
        assertThat(answer.last().toString()).as(what).doesNotContain("the server failed");
      }
    }
    assertThat(mcp.legacy("ping", "{}").result().isEmpty()).as("seed " + SEED).isTrue();
    assertThat(used() - before).as("bytes that stayed, seed " + SEED).isLessThan(MAX_GROWTH);
  }

  @Test
  void cancellationsAmongRequestsHitTheirOwnAlone() throws InterruptedException {
    var threads = new ArrayList<Thread>();
    var answers = new java.util.concurrent.ConcurrentHashMap<Integer, McpClient.Answer>();
    for (int i = 0; i < 24; i++) {
      int id = 100_000 + i;
      threads.add(
          Thread.ofVirtual()
              .start(
                  () ->
                      answers.put(
                          id,
                          mcp.send(mcp.legacyRequest(McpClient.message(id, "tools/list", "{}"))))));
    }
    for (int i = 0; i < 100; i++) {
      // Of others: neither running nor known, of every type.
      ObjectNode params = NODES.objectNode();
      params.set("requestId", value(2));
      HttpRequest cancel =
          mcp.legacyRequest(
              "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":"
                  + params
                  + "}");
      // 400: a number of more digits than JSON may have here.
      assertThat(mcp.send(cancel).status()).as("seed " + SEED).isIn(202, 400);
    }
    for (Thread thread : threads) {
      thread.join();
    }
    assertThat(answers).hasSize(24);
    answers.forEach(
        (id, answer) -> {
          assertThat(answer.last().get("id").asInt()).isEqualTo(id);
          assertThat(answer.result().path("tools").size()).isPositive();
        });
  }

  private HttpRequest request(byte[] body) {
    HttpRequest.Builder request =
        server
            .request("POST", "/mcp", BodyPublishers.ofByteArray(body))
            .header("Content-Type", "application/json")
            .header("Accept", "application/json, text/event-stream");
    if (random.nextInt(4) > 0) {
      request.header("Mcp-Session-Id", mcp.session());
    } else if (random.nextBoolean()) {
      request.header("MCP-Protocol-Version", "2026-07-28").header("Mcp-Method", "server/discover");
    }
    return request.build();
  }

  private byte[] body() {
    ObjectNode good = Fixtures.json(GOOD.get(random.nextInt(GOOD.size())));
    good.put("jsonrpc", "2.0");
    if (!good.path("method").asText().startsWith("notifications/")) {
      good.put("id", random.nextInt(1_000_000));
    }
    return switch (random.nextInt(10)) {
      case 0 -> "[".repeat(1 + random.nextInt(20_000)).getBytes(StandardCharsets.UTF_8);
      case 1 -> nested(good, 1 + random.nextInt(5000));
      case 2 -> bytes(good.put("method", "x".repeat(random.nextInt(700_000))));
      case 3 -> bytes(batch(good));
      case 4, 5 -> flipped(bytes(good));
      default -> bytes(twisted(good));
    };
  }

  private static byte[] nested(ObjectNode good, int depth) {
    String deep = "{\"a\":".repeat(depth) + "1" + "}".repeat(depth);
    String text = good.toString();
    return (text.substring(0, text.length() - 1) + ",\"deep\":" + deep + "}")
        .getBytes(StandardCharsets.UTF_8);
  }

  private ArrayNode batch(ObjectNode good) {
    ArrayNode all = NODES.arrayNode();
    for (int i = random.nextInt(50); i >= 0; i--) {
      all.add(random.nextBoolean() ? good : value(2));
    }
    return all;
  }

  /** Any bytes, so mostly not UTF-8 any more. */
  private byte[] flipped(byte[] bytes) {
    for (int i = random.nextInt(6); i >= 0; i--) {
      bytes[random.nextInt(bytes.length)] = (byte) random.nextInt(256);
    }
    return bytes;
  }

  /** One field of it, at any depth, has a value of any type, or is gone. */
  private ObjectNode twisted(ObjectNode good) {
    ObjectNode at = good;
    while (true) {
      List<String> names = new ArrayList<>();
      at.fieldNames().forEachRemaining(names::add);
      if (names.isEmpty()) {
        at.set("x", value(3));
        return good;
      }
      String name = names.get(random.nextInt(names.size()));
      if (at.get(name) instanceof ObjectNode inner && random.nextInt(3) > 0) {
        at = inner;
      } else if (random.nextInt(5) == 0) {
        at.remove(name);
        return good;
      } else {
        at.set(name, value(3));
        return good;
      }
    }
  }

  private JsonNode value(int depth) {
    return switch (random.nextInt(depth > 0 ? 9 : 7)) {
      case 0 -> NODES.nullNode();
      case 1 -> NODES.booleanNode(random.nextBoolean());
      case 2 -> NODES.numberNode(random.nextLong());
      case 3 -> NODES.numberNode(random.nextDouble() * 1e300);
      case 4 -> NODES.textNode("");
      case 5 -> NODES.textNode("\0\uD800 ../%00" + "é".repeat(random.nextInt(2000)));
      case 6 -> NODES.numberNode(java.math.BigInteger.TEN.pow(random.nextInt(80)));
      case 7 -> {
        ArrayNode array = NODES.arrayNode();
        for (int i = random.nextInt(5); i > 0; i--) {
          array.add(value(depth - 1));
        }
        yield array;
      }
      default -> {
        ObjectNode object = NODES.objectNode();
        for (int i = random.nextInt(5); i > 0; i--) {
          object.set("k" + random.nextInt(9), value(depth - 1));
        }
        yield object;
      }
    };
  }

  private static byte[] bytes(JsonNode node) {
    return node.toString().getBytes(StandardCharsets.UTF_8);
  }

  private static String shown(byte[] body) {
    String text = new String(body, StandardCharsets.UTF_8);
    return text.length() > 300 ? text.substring(0, 300) + "…" : text;
  }

  /** What is held after everything that can go has gone. */
  private static long used() {
    long least = Long.MAX_VALUE;
    for (int i = 0; i < 4; i++) {
      System.gc();
      least =
          Math.min(least, Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory());
    }
    return least;
  }
}
