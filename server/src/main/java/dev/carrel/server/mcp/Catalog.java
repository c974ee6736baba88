package dev.carrel.server.mcp;

import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArraySet;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Everything that is offered to clients, and the news about it. Safe for many threads. */
public final class Catalog {
  private final Map<String, List<Tool>> toolsets;
  private final Set<String> usual;
  private final Map<String, Prompt> prompts = new LinkedHashMap<>();
  private final List<ResourceSource> sources;
  private final List<Extension> extensions;
  private final String instructions;
  private final Set<Consumer<News>> listeners = new CopyOnWriteArraySet<>();

  /**
   * @param toolsets the tools by the name of their set
   * @param usual the sets of a client that chooses none
   * @param instructions how to make good use of it, for a model
   */
  public Catalog(
      Map<String, List<Tool>> toolsets,
      Set<String> usual,
      List<Prompt> prompts,
      List<ResourceSource> sources,
      List<Extension> extensions,
      String instructions) {
    this.toolsets = Collections.unmodifiableMap(new LinkedHashMap<>(toolsets));
    this.usual = Set.copyOf(usual);
    prompts.forEach(prompt -> this.prompts.put(prompt.name(), prompt));
    this.sources = List.copyOf(sources);
    this.extensions = List.copyOf(extensions);
    this.instructions = instructions;
  }

  /** The sets that a client names, with commas between them; null: the usual ones. */
  Set<String> choose(@Nullable String names) {
    if (names == null) {
      return usual;
    }
    Set<String> chosen =
        Arrays.stream(names.split(",", -1))
            .map(String::strip)
            .filter(name -> !name.isEmpty())
            .collect(Collectors.toUnmodifiableSet());
    Set<String> all = toolsets.keySet();
    if (!all.containsAll(chosen)) {
      throw RpcError.malformed(
          Protocol.INVALID_PARAMS, "tools must be some of " + String.join(", ", all));
    }
    return chosen;
  }

  List<Tool> tools(Set<String> chosen) {
    var byName = new LinkedHashMap<String, Tool>();
    toolsets.forEach(
        (set, tools) -> {
          if (chosen.contains(set)) {
            tools.forEach(tool -> byName.putIfAbsent(tool.info().name(), tool));
          }
        });
    return List.copyOf(byName.values());
  }

  /** By its name; where no other tool has that, also in other case and with underscores. */
  Optional<Tool> tool(Set<String> chosen, String name) {
    List<Tool> tools = tools(chosen);
    return tools.stream()
        .filter(tool -> tool.info().name().equals(name))
        .findFirst()
        .or(
            () ->
                tools.stream()
                    .filter(tool -> bare(tool.info().name()).equalsIgnoreCase(bare(name)))
                    .findFirst());
  }

  private static String bare(String name) {
    return name.replace("_", "");
  }

  List<Prompt> prompts() {
    return List.copyOf(prompts.values());
  }

  Optional<Prompt> prompt(String name) {
    return Optional.ofNullable(prompts.get(name));
  }

  List<ResourceSource> sources() {
    return sources;
  }

  List<Extension> extensions() {
    return extensions;
  }

  String instructions() {
    return instructions;
  }

  /** Tells every client that wants to know. */
  public void announce(News news) {
    listeners.forEach(listener -> listener.accept(news));
  }

  /** The listener must not block. */
  Listening listen(Consumer<News> listener) {
    listeners.add(listener);
    return () -> listeners.remove(listener);
  }

  /** Hears news until it is closed. */
  interface Listening extends AutoCloseable {
    @Override
    void close();
  }

  /** What changed. */
  public sealed interface News {
    /** The tools are others than before. */
    record Tools() implements News {}

    /** The prompts are others than before. */
    record Prompts() implements News {}

    /** The resources are others than before. */
    record Resources() implements News {}

    /** A resource has other contents than before. */
    record Updated(String uri) implements News {}

    default String method() {
      return switch (this) {
        case Tools _ -> "notifications/tools/list_changed";
        case Prompts _ -> "notifications/prompts/list_changed";
        case Resources _ -> "notifications/resources/list_changed";
        case Updated _ -> "notifications/resources/updated";
      };
    }
  }
}
