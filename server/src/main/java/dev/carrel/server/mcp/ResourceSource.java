package dev.carrel.server.mcp;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Things that can be read by their address. Called from many threads at once. */
public interface ResourceSource {
  /** What there is now. */
  List<About> list(Call call) throws Exception;

  /** Addresses with places in them. */
  List<Template> templates();

  /** The contents at an address, made by {@link Content}; empty when it is not one of ours. */
  Optional<List<ObjectNode>> read(Call call, String uri) throws Exception;

  /** What could stand in a place of a template, by what was typed so far. */
  default List<String> complete(Call call, String template, String argument, String typed) {
    return List.of();
  }

  /**
   * Begins to look at a resource whose changes nobody tells of otherwise; empty when it is not one
   * of these.
   *
   * @param changed called from a thread of its own
   */
  default Optional<Catalog.Listening> watch(Call call, String uri, Runnable changed)
      throws Exception {
    return Optional.empty();
  }

  /** One resource. */
  record About(String uri, String name, String description, @Nullable String mime) {
    ObjectNode toJson() {
      ObjectNode node =
          Protocol.object().put("uri", uri).put("name", name).put("description", description);
      if (mime != null) {
        node.put("mimeType", mime);
      }
      return node;
    }
  }

  /** Many resources. */
  record Template(String uriTemplate, String name, String description, @Nullable String mime) {
    ObjectNode toJson() {
      ObjectNode node =
          Protocol.object()
              .put("uriTemplate", uriTemplate)
              .put("name", name)
              .put("description", description);
      if (mime != null) {
        node.put("mimeType", mime);
      }
      return node;
    }
  }
}
