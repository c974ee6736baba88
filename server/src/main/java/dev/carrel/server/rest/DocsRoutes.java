package dev.carrel.server.rest;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import dev.carrel.server.http.Exchange;
import dev.carrel.server.http.Json;
import dev.carrel.server.http.Router;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.Text;
import io.helidon.http.HeaderName;
import io.helidon.http.HeaderNames;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The API's description, and a page to read and try it. The page is the same for everybody and
 * needs no token; it asks for one and sends it with every call it makes, the description included.
 */
final class DocsRoutes {
  private static final HeaderName CSP = HeaderNames.create("Content-Security-Policy");
  private static final String STRICT =
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
          + " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
  private static final Map<String, String> ASSETS =
      Map.of(
          "start.js", "text/javascript; charset=utf-8",
          "page.css", "text/css; charset=utf-8",
          "swagger-ui.css", "text/css; charset=utf-8",
          "swagger-ui-bundle.js", "text/javascript; charset=utf-8",
          "favicon-32x32.png", "image/png");

  private final Map<String, byte[]> loaded = new ConcurrentHashMap<>();

  void addTo(Router router) {
    router
        .open("/docs", this::page)
        .open("/docs/{asset}", this::asset)
        .get("/api/v1/openapi.yaml", this::yaml)
        .get("/api/v1/openapi.json", this::json);
  }

  private void page(Exchange exchange) {
    send(exchange, "text/html; charset=utf-8", load("docs/index.html"));
  }

  private void asset(Exchange exchange) {
    String name = exchange.parameter("asset");
    String type = ASSETS.get(name);
    if (type == null) {
      throw new SandboxException(
          ErrorCode.FILE_NOT_FOUND, "no such page: " + Text.printable(name, 64));
    }
    boolean ours = name.equals("start.js") || name.equals("page.css");
    send(exchange, type, load(ours ? "docs/" + name : webjar() + name));
  }

  private void yaml(Exchange exchange) {
    send(exchange, "application/yaml", load("openapi.yaml"));
  }

  private void json(Exchange exchange) {
    send(exchange, "application/json", loaded.computeIfAbsent("openapi.json", name -> asJson()));
  }

  private static void send(Exchange exchange, String type, byte[] content) {
    exchange
        .header(HeaderNames.CONTENT_TYPE, type)
        .header(CSP, STRICT)
        .header(HeaderNames.CACHE_CONTROL, "no-cache")
        .bytes(200, content);
  }

  private byte[] load(String name) {
    return loaded.computeIfAbsent(name, Resources::bytes);
  }

  private static byte[] asJson() {
    try (InputStream in = Resources.open("openapi.yaml")) {
      JsonNode description = new YAMLMapper().readTree(in);
      return Json.bytes(description);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static String webjar() {
    try (InputStream in = Resources.open("/META-INF/maven/org.webjars/swagger-ui/pom.properties")) {
      var properties = new Properties();
      properties.load(in);
      return "/META-INF/resources/webjars/swagger-ui/" + properties.getProperty("version") + "/";
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
