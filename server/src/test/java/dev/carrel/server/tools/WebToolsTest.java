package dev.carrel.server.tools;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.carrel.control.ControlSettings;
import dev.carrel.control.web.WebSettings;
import dev.carrel.egress.Host;
import dev.carrel.server.LiveServer;
import dev.carrel.server.mcp.McpClient;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(120)
class WebToolsTest {
  private static final String SITE = "site.example.net";

  private static HttpServer site;
  private static LiveServer server;
  private static McpClient client;
  private static String reader;

  @BeforeAll
  static void start() throws IOException {
    site = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    site.createContext("/", WebToolsTest::answer);
    site.start();
    server = LiveServer.start(LiveServer.settings(), WebToolsTest::settings);
    client = new McpClient(server, "/mcp?tools=web");
    // This host is not on the internet: only for a sandbox that may reach it it is read.
    reader = server.sandboxId();
    server.patch(
        "/api/v1/sandboxes/" + reader,
        "{\"network\":{\"allow\":[\"%s:%d\"]}}".formatted(SITE, site.getAddress().getPort()));
  }

  @AfterAll
  static void stop() {
    server.close();
    site.stop(0);
  }

  private static ControlSettings settings(ControlSettings usual) {
    var pinned = Map.of(Host.parse(SITE), List.of(InetAddress.getLoopbackAddress()));
    return usual
        .withNetwork(usual.network().withProxy(usual.network().proxy().withPinned(pinned)))
        .withWeb(
            new WebSettings(
                true, List.of(new WebSettings.Provider("searxng", url(""))), 100_000, 10_000));
  }

  private static String url(String path) {
    return "http://" + SITE + ":" + site.getAddress().getPort() + path;
  }

  private static void answer(HttpExchange exchange) throws IOException {
    String path = exchange.getRequestURI().getPath();
    String text =
        "<html><title>T</title><body><main><h1>Head</h1><p>words</p></main></body></html>";
    int status = 200;
    if (path.equals("/away")) {
      exchange.getResponseHeaders().add("Location", "http://other.example.net/x");
      status = 302;
    } else if (path.equals("/none")) {
      status = 404;
    } else if (path.startsWith("/search")) {
      text =
          hit("One", "https://a.example/1", "first") + hit("Two", "https://b.example/2", "second");
    }
    exchange.getResponseHeaders().add("Content-Type", "text/html");
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    exchange.sendResponseHeaders(status, bytes.length);
    exchange.getResponseBody().write(bytes);
    exchange.close();
  }

  private static String hit(String title, String url, String words) {
    return "<article class=result><h3><a href=%s>%s</a></h3><p class=content>%s</p></article>"
        .formatted(url, title, words);
  }

  private static String arguments(String path, String more) {
    return arguments(path, reader, more);
  }

  private static String arguments(String path, String session, String more) {
    return "{\"url\":\"%s\",\"session_id\":\"%s\"%s}".formatted(url(path), session, more);
  }

  @Test
  void theToolsLookOnlyAndLookOutside() {
    JsonNode tools = client.modern("tools/list", "{}").result().get("tools");
    assertThat(tools.findValuesAsText("name"))
        .containsExactly("WebFetch", "WebSearch", "fetch_webpage");
    assertThat(tools).allMatch(tool -> tool.at("/annotations/readOnlyHint").asBoolean());
    assertThat(tools).allMatch(tool -> tool.at("/annotations/openWorldHint").asBoolean());
  }

  @Test
  void aPageComesAsMarkdownByAnyOfItsNames() {
    for (String name : List.of("WebFetch", "web_fetch", "webfetch")) {
      assertThat(client.text(name, arguments("/page", ",\"prompt\":\"what is it\"")))
          .startsWith("URL: " + url("/page") + "\nPrompt: what is it\n---\nContent:\n")
          .contains("# Head", "words");
    }
    JsonNode page = client.call("fetch_webpage", arguments("/page", "")).get("structuredContent");
    assertThat(page.get("title").asText()).isEqualTo("T");
    assertThat(page.get("content").asText()).contains("# Head");
  }

  @Test
  void aRedirectToAnotherHostIsTold() {
    assertThat(client.text("WebFetch", arguments("/away", "")))
        .contains("moved to another host: http://other.example.net/x");
    assertThat(
            client
                .call("fetch_webpage", arguments("/away", ""))
                .at("/structuredContent/redirect_url")
                .asText())
        .isEqualTo("http://other.example.net/x");
  }

  @Test
  void aSearchComesAsTextAndAsAnObject() {
    JsonNode all = client.call("web_search", "{\"query\":\"two things\"}");
    assertThat(all.at("/content/0/text").asText())
        .isEqualTo(
            "## 1. [One](https://a.example/1)\nfirst\n\n## 2. [Two](https://b.example/2)\nsecond");
    assertThat(all.at("/structuredContent/provider").asText()).isEqualTo("searxng");
    for (String blocked : List.of("\"a.example, c.example\"", "[\"a.example\"]")) {
      assertThat(
              client
                  .call(
                      "WebSearch",
                      "{\"query\":\"two things\",\"blocked_domains\":%s}".formatted(blocked))
                  .at("/structuredContent/results")
                  .findValuesAsText("title"))
          .containsExactly("Two");
    }
    JsonNode none =
        client.call("WebSearch", "{\"query\":\"two things\",\"allowed_domains\":[\"c.example\"]}");
    assertThat(none.at("/content/0/text").asText()).isEqualTo("No results found");
    assertThat(none.at("/structuredContent/results")).isEmpty();
  }

  @Test
  void thePolicyOfTheSessionHolds() {
    assertThat(client.error("WebFetch", arguments("/page", server.sandboxId(), ""))).contains(SITE);
    assertThat(client.error("WebFetch", "{\"url\":\"" + url("/page") + "\"}")).contains(SITE);
    assertThat(client.error("WebFetch", "{\"url\":\"http://169.254.169.254/latest\"}"))
        .contains("169.254.169.254");
    assertThat(client.error("WebFetch", "{\"url\":\"file:///etc/passwd\"}")).contains("url");
    assertThat(client.error("WebFetch", arguments("/none", ""))).contains("404");
    assertThat(client.error("WebSearch", "{\"query\":\"x\"}")).contains("query");
  }
}
