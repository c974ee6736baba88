package dev.carrel.sdk;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The server's settings of sandboxes; for administrators. */
public final class Settings {
  private static final String PATH = "/api/v1/settings/sandbox";
  private static final TypeReference<Map<String, Object>> VIEW = new TypeReference<>() {};

  private final Transport transport;

  Settings(Transport transport) {
    this.transport = transport;
  }

  public List<SettingInfo> list() {
    return entries(transport.get(PATH, VIEW));
  }

  /**
   * Changes all of these or none, at once and for good.
   *
   * @param changes by name; null: as configured again
   */
  public List<SettingInfo> change(Map<String, @Nullable Object> changes) {
    // A tree, because what is null in a map is left out on its way.
    ObjectNode body = JsonNodeFactory.instance.objectNode();
    changes.forEach((name, value) -> body.set(name, JsonNodeFactory.instance.pojoNode(value)));
    return entries(transport.patch(PATH, body, VIEW));
  }

  /** Makes everything as configured again. */
  public List<SettingInfo> reset() {
    return entries(transport.delete(PATH, VIEW));
  }

  private static List<SettingInfo> entries(Map<String, Object> view) {
    var changed = (List<?>) view.getOrDefault("changed", List.of());
    return ((Map<?, ?>) view.getOrDefault("configured", Map.of()))
        .entrySet().stream()
            .map(
                entry ->
                    new SettingInfo(
                        entry.getKey().toString(),
                        view.getOrDefault(entry.getKey().toString(), entry.getValue()),
                        entry.getValue(),
                        changed.contains(entry.getKey())))
            .toList();
  }
}
