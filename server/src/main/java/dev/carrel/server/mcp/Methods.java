package dev.carrel.server.mcp;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.carrel.server.http.Failure;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.Text;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** What both eras have in common: the requests about tools, resources and prompts. */
final class Methods {
  /** Whose answers a client may keep for a while. */
  private static final Set<String> CACHEABLE =
      Set.of(
          "server/discover",
          "tools/list",
          "prompts/list",
          "resources/list",
          "resources/templates/list",
          "resources/read",
          "skills/list");

  private static final int PAGE = 100;
  private static final int MAX_COMPLETIONS = 100;
  private static final int LEGACY_RESOURCE_NOT_FOUND = -32002;

  private final Catalog catalog;
  private final String version;

  /**
   * @param version of this server
   */
  Methods(Catalog catalog, String version) {
    this.catalog = catalog;
    this.version = version;
  }

  Catalog catalog() {
    return catalog;
  }

  static boolean isCacheable(String method) {
    return CACHEABLE.contains(method);
  }

  ObjectNode serverInfo() {
    return Protocol.object().put("name", "carrel").put("title", "Carrel").put("version", version);
  }

  ObjectNode capabilities() {
    ObjectNode capabilities = Protocol.object();
    for (Catalog.Kind kind : Catalog.Kind.values()) {
      ObjectNode capability = capabilities.putObject(kind.wireName());
      if (catalog.announces(kind)) {
        capability.put("listChanged", true);
      }
    }
    capabilities.withObject("/resources").put("subscribe", true);
    capabilities.putObject("completions");
    capabilities.putObject("logging");
    if (!catalog.extensions().isEmpty()) {
      ObjectNode extensions = capabilities.putObject("extensions");
      catalog.extensions().forEach(extension -> extensions.putObject(extension.name()));
    }
    return capabilities;
  }

  /** The result, or empty when there is no such method. */
  Optional<ObjectNode> handle(String method, Call call, boolean modern) throws Exception {
    ObjectNode params = call.params();
    return switch (method) {
      case "tools/list" ->
          Optional.of(
              page(params, "tools", catalog.tools(call.toolsets()), tool -> tool.info().toJson()));
      case "tools/call" -> Optional.of(callTool(call));
      case "prompts/list" ->
          Optional.of(page(params, "prompts", catalog.prompts(), Methods::describe));
      case "prompts/get" -> Optional.of(prompt(call));
      case "resources/list" ->
          Optional.of(page(params, "resources", resources(call), ResourceSource.About::toJson));
      case "resources/templates/list" ->
          Optional.of(
              page(
                  params,
                  "resourceTemplates",
                  catalog.sources().stream()
                      .flatMap(source -> source.templates().stream())
                      .toList(),
                  ResourceSource.Template::toJson));
      case "resources/read" -> Optional.of(read(call, modern));
      case "completion/complete" -> Optional.of(complete(call));
      default -> extended(method, call);
    };
  }

  private Optional<ObjectNode> extended(String method, Call call) throws Exception {
    for (Extension extension : catalog.extensions()) {
      Optional<ObjectNode> result = extension.handle(method, call);
      if (result.isPresent()) {
        return result;
      }
    }
    return Optional.empty();
  }

  private ObjectNode callTool(Call call) throws Exception {
    String name = requiredText(call.params(), "name");
    Tool tool =
        catalog
            .tool(call.toolsets(), name)
            .orElseThrow(
                () -> RpcError.invalidParams("there is no tool " + Text.printable(name, 128)));
    JsonNode arguments = call.params().get("arguments");
    if (arguments != null && !arguments.isObject() && !arguments.isNull()) {
      throw RpcError.invalidParams("arguments must be an object");
    }
    List<Violation> violations = Arguments.check(tool.info().inputSchema(), call.arguments());
    if (!violations.isEmpty()) {
      return tool.refuse(violations).toJson();
    }
    try {
      return tool.call(call).toJson();
    } catch (SandboxException e) {
      Failure.log("tool " + tool.info().name(), e);
      return tool.fail(call, e).toJson();
    }
  }

  private ObjectNode prompt(Call call) throws Exception {
    String name = requiredText(call.params(), "name");
    Prompt prompt =
        catalog
            .prompt(name)
            .orElseThrow(
                () -> RpcError.invalidParams("there is no prompt " + Text.printable(name, 128)));
    for (Prompt.Argument argument : prompt.arguments()) {
      if (argument.required() && !call.arguments().path(argument.name()).isTextual()) {
        throw RpcError.invalidParams("the prompt needs the argument " + argument.name());
      }
    }
    ObjectNode result = Protocol.object().put("description", prompt.description());
    var messages = result.putArray("messages");
    prompt.messages(call).forEach(messages::add);
    return result;
  }

  private static ObjectNode describe(Prompt prompt) {
    ObjectNode node =
        Protocol.object()
            .put("name", prompt.name())
            .put("title", prompt.title())
            .put("description", prompt.description());
    var arguments = node.putArray("arguments");
    for (Prompt.Argument argument : prompt.arguments()) {
      arguments
          .addObject()
          .put("name", argument.name())
          .put("description", argument.description())
          .put("required", argument.required());
    }
    return node;
  }

  private List<ResourceSource.About> resources(Call call) throws Exception {
    var all = new ArrayList<ResourceSource.About>();
    for (ResourceSource source : catalog.sources()) {
      all.addAll(source.list(call));
    }
    return all;
  }

  private ObjectNode read(Call call, boolean modern) throws Exception {
    String uri = requiredText(call.params(), "uri");
    for (ResourceSource source : catalog.sources()) {
      Optional<List<ObjectNode>> found = find(source, call, uri);
      if (found.isPresent()) {
        ObjectNode result = Protocol.object();
        var contents = result.putArray("contents");
        found.get().forEach(contents::add);
        return result;
      }
    }
    throw RpcError.resourceNotFound(
        modern ? Protocol.INVALID_PARAMS : LEGACY_RESOURCE_NOT_FOUND, uri);
  }

  private static Optional<List<ObjectNode>> find(ResourceSource source, Call call, String uri)
      throws Exception {
    try {
      return source.read(call, uri);
    } catch (SandboxException e) {
      Failure.log("resources/read", e);
      throw RpcError.invalidParams(e.message(), Protocol.object().put("uri", uri));
    }
  }

  private ObjectNode complete(Call call) {
    JsonNode ref = call.params().path("ref");
    String argument = requiredText(call.params().path("argument"), "name");
    String typed = call.params().path("argument").path("value").asText();
    List<String> found =
        switch (ref.path("type").asText()) {
          case "ref/prompt" ->
              catalog
                  .prompt(requiredText(ref, "name"))
                  .map(prompt -> prompt.complete(call, argument, typed))
                  .orElseThrow(() -> RpcError.invalidParams("there is no such prompt"));
          case "ref/resource" -> {
            String template = requiredText(ref, "uri");
            yield catalog.sources().stream()
                .flatMap(source -> source.complete(call, template, argument, typed).stream())
                .toList();
          }
          default -> throw RpcError.invalidParams("ref must be ref/prompt or ref/resource");
        };
    ObjectNode result = Protocol.object();
    ObjectNode completion = result.putObject("completion");
    var values = completion.putArray("values");
    found.stream().limit(MAX_COMPLETIONS).forEach(values::add);
    completion.put("total", found.size()).put("hasMore", found.size() > MAX_COMPLETIONS);
    return result;
  }

  static <T> ObjectNode page(
      ObjectNode params, String name, List<T> all, Function<T, ObjectNode> view) {
    int from = offset(params.get("cursor"));
    if (from > all.size()) {
      throw RpcError.invalidParams("the cursor is past the end");
    }
    int to = Math.min(all.size(), from + PAGE);
    ObjectNode result = Protocol.object();
    var items = result.putArray(name);
    all.subList(from, to).forEach(item -> items.add(view.apply(item)));
    if (to < all.size()) {
      result.put("nextCursor", cursor(to));
    }
    return result;
  }

  private static String cursor(int offset) {
    return Base64.getUrlEncoder()
        .withoutPadding()
        .encodeToString(("from:" + offset).getBytes(StandardCharsets.US_ASCII));
  }

  private static int offset(@Nullable JsonNode cursor) {
    if (cursor == null || cursor.isNull()) {
      return 0;
    }
    try {
      String text =
          new String(Base64.getUrlDecoder().decode(cursor.asText()), StandardCharsets.US_ASCII);
      if (text.startsWith("from:")) {
        int offset = Integer.parseInt(text.substring("from:".length()));
        if (offset >= 0) {
          return offset;
        }
      }
    } catch (IllegalArgumentException notOurs) {
      // Told below.
    }
    throw RpcError.invalidParams("the cursor is not one that this server gave");
  }

  static String requiredText(JsonNode node, String name) {
    JsonNode value = node.path(name);
    if (!value.isTextual() || value.textValue().isEmpty()) {
      throw RpcError.invalidParams(name + " must be a string that is not empty");
    }
    return value.textValue();
  }
}
