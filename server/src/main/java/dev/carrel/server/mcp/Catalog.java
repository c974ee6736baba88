package dev.carrel.server.mcp;

import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArraySet;
import java.util.function.Consumer;
import java.util.function.Supplier;
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
  private final Set<Kind> changing;
  private final Set<Listener> listeners = new CopyOnWriteArraySet<>();
  private final Object audience = new Object();
  private @Nullable Supplier<Listening> reporter;
  private @Nullable Listening reporting;

  /** What there are lists of. */
  public enum Kind {
    TOOLS,
    PROMPTS,
    RESOURCES;

    /** As a capability. */
    String wireName() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  private record Listener(String tenant, Consumer<News> heard) {}

  /**
   * @param toolsets the tools by the name of their set
   * @param usual the sets of a client that chooses none
   * @param changing the lists whose changes are announced
   * @param instructions how to make good use of it, for a model
   */
  public Catalog(
      Map<String, List<Tool>> toolsets,
      Set<String> usual,
      List<Prompt> prompts,
      List<ResourceSource> sources,
      List<Extension> extensions,
      Set<Kind> changing,
      String instructions) {
    this.toolsets = Collections.unmodifiableMap(new LinkedHashMap<>(toolsets));
    this.usual = Set.copyOf(usual);
    prompts.forEach(prompt -> this.prompts.put(prompt.name(), prompt));
    this.sources = List.copyOf(sources);
    this.extensions = List.copyOf(extensions);
    this.changing = Set.copyOf(changing);
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

  /** Whether changes of this list are announced. */
  boolean announces(Kind kind) {
    return changing.contains(kind);
  }

  /** Tells every client that wants to know. */
  public void announce(News news) {
    listeners.forEach(listener -> listener.heard.accept(news));
  }

  /** As {@link #announce(News)}, of what is nobody else's business. */
  public void announce(String tenant, News news) {
    listeners.forEach(
        listener -> {
          if (listener.tenant.equals(tenant)) {
            listener.heard.accept(news);
          }
        });
  }

  /**
   * Names who looks for news. Nobody does while nobody listens.
   *
   * @param begin begins to look, before it returns; what it gives is closed when the last listener
   *     has gone
   */
  public Listening reportedBy(Supplier<Listening> begin) {
    synchronized (audience) {
      reporter = begin;
      fit();
    }
    return () -> {
      synchronized (audience) {
        reporter = null;
        fit();
      }
    };
  }

  /**
   * @param tenant whose news are wanted beside those for all
   * @param heard must not block
   */
  Listening listen(String tenant, Consumer<News> heard) {
    var listener = new Listener(tenant, heard);
    synchronized (audience) {
      listeners.add(listener);
      fit();
    }
    return () -> {
      synchronized (audience) {
        listeners.remove(listener);
        fit();
      }
    };
  }

  private void fit() {
    Supplier<Listening> wanted = listeners.isEmpty() ? null : reporter;
    if (wanted != null && reporting == null) {
      reporting = wanted.get();
    } else if (wanted == null && reporting != null) {
      reporting.close();
      reporting = null;
    }
  }

  /** Begins to look at a resource that does not tell of its changes by itself. */
  Listening watch(Call call, String uri, Runnable changed) throws Exception {
    for (ResourceSource source : sources) {
      Optional<Listening> watching = source.watch(call, uri, changed);
      if (watching.isPresent()) {
        return watching.get();
      }
    }
    return () -> {};
  }

  /** Hears news until it is closed. */
  public interface Listening extends AutoCloseable {
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

    /** All resources whose addresses begin like this may have other contents than before. */
    record UpdatedBelow(String prefix) implements News {}

    /** Those of the addresses that it is about. */
    default List<String> among(Set<String> uris) {
      return switch (this) {
        case Updated(String uri) -> uris.contains(uri) ? List.of(uri) : List.of();
        case UpdatedBelow(String prefix) ->
            uris.stream().filter(uri -> uri.startsWith(prefix)).toList();
        case Tools _, Prompts _, Resources _ -> List.of();
      };
    }

    default String method() {
      return switch (this) {
        case Tools _ -> "notifications/tools/list_changed";
        case Prompts _ -> "notifications/prompts/list_changed";
        case Resources _ -> "notifications/resources/list_changed";
        case Updated _, UpdatedBelow _ -> "notifications/resources/updated";
      };
    }
  }
}
