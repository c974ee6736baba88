package dev.carrel.image;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The images that can be built here; what they are is in the folder {@code images}. */
public final class Catalog {
  static final List<String> NAMES =
      List.of("browser", "data-science", "desktop", "node", "python", "r", "skills-runtime");

  private Catalog() {}

  /** By name. */
  public static Map<String, Recipe> load() {
    var recipes = new TreeMap<String, Recipe>();
    var yaml = YAMLMapper.builder().build();
    for (String name : NAMES) {
      try (InputStream in = Catalog.class.getResourceAsStream("/catalog/" + name + ".yaml")) {
        if (in == null) {
          throw new IllegalStateException("the distribution lacks the recipe of image " + name);
        }
        recipes.put(name, recipe(name, yaml.readTree(in)));
      } catch (IOException e) {
        throw new UncheckedIOException("cannot read the recipe of image " + name, e);
      }
    }
    return recipes;
  }

  private static Recipe recipe(String name, JsonNode node) {
    var packages = new ArrayList<String>();
    node.path("packages").forEach(item -> packages.add(item.asText()));
    JsonNode snapshot = node.get("snapshot");
    return new Recipe(
        name,
        node.path("description").asText(),
        packages,
        snapshot == null ? null : new Snapshot(snapshot.asText()));
  }
}
