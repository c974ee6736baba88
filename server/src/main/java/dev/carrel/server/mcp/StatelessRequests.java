package dev.carrel.server.mcp;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.carrel.control.sandbox.Caller;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;

/** Requests of the era without sessions: each says everything about itself. */
final class StatelessRequests {
  private static final long LIST_TTL_MILLIS = 5000;

  private final Methods methods;
  private final SignedState states = new SignedState();

  StatelessRequests(Methods methods) {
    this.methods = methods;
  }

  /** What the headers of a request say about its body; null where they say nothing. */
  record Headers(@Nullable String version, @Nullable String method, @Nullable String name) {}

  /** Checks a request and begins to serve it. */
  Flight begin(Call.Client client, RpcMessage.Request request, Headers headers) {
    ObjectNode capabilities = check(request, headers);
    var outbox = new Outbox();
    Caller caller = client.caller();
    String subject = request.params().path("name").asText(request.params().path("uri").asText());
    var peer =
        new StatelessPeer(
            request,
            capabilities,
            outbox,
            states,
            caller.tenant() + "\n" + caller.principal() + "\n" + request.method() + "\n" + subject);
    var call = new Call(client, request.params(), peer);
    Flight flight = Flight.prepare(request, outbox, () -> handle(request, call, outbox), () -> {});
    flight.start();
    return flight;
  }

  private static ObjectNode check(RpcMessage.Request request, Headers headers) {
    agree("Mcp-Method", headers.method(), request.method());
    switch (request.method()) {
      case "tools/call", "prompts/get" -> agreeOnName(headers, request.params().path("name"));
      case "resources/read" -> agreeOnName(headers, request.params().path("uri"));
      default -> {}
    }
    JsonNode version = request.meta(Protocol.META_VERSION);
    JsonNode capabilities = request.meta(Protocol.META_CAPABILITIES);
    if (version == null || !version.isTextual()) {
      throw RpcError.malformed(
          Protocol.INVALID_PARAMS, "params._meta needs " + Protocol.META_VERSION);
    }
    if (!(capabilities instanceof ObjectNode known)) {
      throw RpcError.malformed(
          Protocol.INVALID_PARAMS, "params._meta needs " + Protocol.META_CAPABILITIES);
    }
    agree("MCP-Protocol-Version", headers.version(), version.textValue());
    if (!version.textValue().equals(Protocol.MODERN)) {
      throw RpcError.unsupportedVersion(version.textValue());
    }
    return known;
  }

  private static void agreeOnName(Headers headers, JsonNode name) {
    if (name.isTextual()) {
      agree("Mcp-Name", headers.name(), name.textValue());
    }
  }

  private static void agree(String header, @Nullable String value, String body) {
    if (value == null) {
      throw RpcError.malformed(Protocol.HEADER_MISMATCH, "the header " + header + " is missing");
    }
    if (!decoded(value.strip()).equals(body)) {
      throw RpcError.malformed(
          Protocol.HEADER_MISMATCH, "the header " + header + " says something else than the body");
    }
  }

  // What does not fit a header comes in base64.
  private static String decoded(String value) {
    String prefix = "=?base64?";
    if (!value.startsWith(prefix) || !value.endsWith("?=")) {
      return value;
    }
    try {
      byte[] bytes =
          Base64.getDecoder().decode(value.substring(prefix.length(), value.length() - 2));
      return new String(bytes, StandardCharsets.UTF_8);
    } catch (IllegalArgumentException e) {
      throw RpcError.malformed(Protocol.HEADER_MISMATCH, "a header has broken base64");
    }
  }

  private ObjectNode handle(RpcMessage.Request request, Call call, Outbox outbox) throws Exception {
    ObjectNode result =
        switch (request.method()) {
          case "server/discover" -> discover();
          case "subscriptions/listen" -> listen(request, outbox);
          default -> handleOrAsk(request, call);
        };
    if (!result.has("resultType")) {
      result.put("resultType", "complete");
    }
    if (Methods.isCacheable(request.method())) {
      result.put("ttlMs", request.method().equals("resources/read") ? 0 : LIST_TTL_MILLIS);
      result.put("cacheScope", "private");
    }
    result.withObject("/" + Protocol.META).set(Protocol.META_SERVER, methods.serverInfo());
    return result;
  }

  private ObjectNode handleOrAsk(RpcMessage.Request request, Call call) throws Exception {
    try {
      return methods
          .handle(request.method(), call, true)
          .orElseThrow(() -> RpcError.methodNotFound(request.method(), 404));
    } catch (InputRequired e) {
      return e.result();
    }
  }

  private ObjectNode discover() {
    ObjectNode result = Protocol.object();
    result.putArray("supportedVersions").add(Protocol.MODERN);
    result.set("capabilities", methods.capabilities());
    return result.put("instructions", methods.catalog().instructions());
  }

  /** Tells of changes until the client goes away. */
  private ObjectNode listen(RpcMessage.Request request, Outbox outbox) throws InterruptedException {
    JsonNode wanted = request.params().path("notifications");
    if (!wanted.isObject()) {
      throw RpcError.invalidParams("notifications must say which ones");
    }
    Set<String> uris = new HashSet<>();
    wanted.path("resourceSubscriptions").forEach(uri -> uris.add(uri.asText()));
    ObjectNode agreed = Protocol.object();
    for (String kind : List.of("toolsListChanged", "promptsListChanged", "resourcesListChanged")) {
      if (wanted.path(kind).asBoolean()) {
        agreed.put(kind, true);
      }
    }
    if (!uris.isEmpty()) {
      var array = agreed.putArray("resourceSubscriptions");
      new ArrayList<>(uris).forEach(array::add);
    }
    ObjectNode acknowledged = tagged(request);
    acknowledged.set("notifications", agreed);
    outbox.require(Protocol.notification("notifications/subscriptions/acknowledged", acknowledged));
    try (Catalog.Listening _ =
        methods.catalog().listen(news -> tell(news, agreed, uris, request, outbox))) {
      new CountDownLatch(1).await();
    }
    return tagged(request);
  }

  private static void tell(
      Catalog.News news,
      ObjectNode agreed,
      Set<String> uris,
      RpcMessage.Request request,
      Outbox outbox) {
    ObjectNode params = tagged(request);
    boolean wanted =
        switch (news) {
          case Catalog.News.Tools _ -> agreed.has("toolsListChanged");
          case Catalog.News.Prompts _ -> agreed.has("promptsListChanged");
          case Catalog.News.Resources _ -> agreed.has("resourcesListChanged");
          case Catalog.News.Updated(String uri) -> {
            params.put("uri", uri);
            yield uris.contains(uri);
          }
        };
    if (wanted) {
      outbox.notice(Protocol.notification(news.method(), params));
    }
  }

  private static ObjectNode tagged(RpcMessage.Request request) {
    ObjectNode params = Protocol.object();
    params.putObject(Protocol.META).set(Protocol.META_SUBSCRIPTION, request.id());
    return params;
  }
}
