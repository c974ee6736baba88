package dev.carrel.server.mcp;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.carrel.control.sandbox.Caller;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
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
    var outbox = Outbox.ofRequest();
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
          case "subscriptions/listen" -> listen(request, call, outbox);
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
  private ObjectNode listen(RpcMessage.Request request, Call call, Outbox outbox) throws Exception {
    JsonNode wanted = request.params().path("notifications");
    if (!wanted.isObject()) {
      throw RpcError.invalidParams("notifications must say which ones");
    }
    Catalog catalog = methods.catalog();
    ObjectNode agreed = Protocol.object();
    for (Catalog.Kind kind : Catalog.Kind.values()) {
      if (catalog.announces(kind) && wanted.path(listChanged(kind)).asBoolean()) {
        agreed.put(listChanged(kind), true);
      }
    }
    try (var subscriptions = new Subscriptions()) {
      for (JsonNode uri : wanted.path("resourceSubscriptions")) {
        subscriptions.add(
            catalog, call, uri.asText(), changed -> updated(changed, request, outbox));
      }
      Set<String> uris = subscriptions.uris();
      if (!uris.isEmpty()) {
        var array = agreed.putArray("resourceSubscriptions");
        uris.forEach(array::add);
      }
      // Heard from here on: what happens before the client reads of it is told after it.
      try (Catalog.Listening _ =
          catalog.listen(
              call.caller().tenant(), news -> tell(news, agreed, uris, request, outbox))) {
        ObjectNode acknowledged = tagged(request);
        acknowledged.set("notifications", agreed);
        outbox.require(
            Protocol.notification("notifications/subscriptions/acknowledged", acknowledged));
        new CountDownLatch(1).await();
      }
    }
    return tagged(request);
  }

  private static String listChanged(Catalog.Kind kind) {
    return kind.wireName() + "ListChanged";
  }

  private static void tell(
      Catalog.News news,
      ObjectNode agreed,
      Set<String> uris,
      RpcMessage.Request request,
      Outbox outbox) {
    switch (news) {
      case Catalog.News.Tools _ -> changed(news, Catalog.Kind.TOOLS, agreed, request, outbox);
      case Catalog.News.Prompts _ -> changed(news, Catalog.Kind.PROMPTS, agreed, request, outbox);
      case Catalog.News.Resources _ ->
          changed(news, Catalog.Kind.RESOURCES, agreed, request, outbox);
      case Catalog.News.Updated _, Catalog.News.UpdatedBelow _ ->
          news.among(uris).forEach(uri -> updated(uri, request, outbox));
    }
  }

  private static void changed(
      Catalog.News news,
      Catalog.Kind kind,
      ObjectNode agreed,
      RpcMessage.Request request,
      Outbox outbox) {
    if (agreed.has(listChanged(kind))) {
      outbox.changed(Protocol.notification(news.method(), tagged(request)));
    }
  }

  private static void updated(String uri, RpcMessage.Request request, Outbox outbox) {
    outbox.changed(
        Protocol.notification("notifications/resources/updated", tagged(request).put("uri", uri)));
  }

  private static ObjectNode tagged(RpcMessage.Request request) {
    ObjectNode params = Protocol.object();
    params.putObject(Protocol.META).set(Protocol.META_SUBSCRIPTION, request.id());
    return params;
  }
}
