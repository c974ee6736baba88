package dev.carrel.engine.docker;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

/**
 * What a daemon says of itself.
 *
 * @param name {@code docker} or {@code podman}
 * @param parts versions of the programs that it works with, by their names
 * @param rootless whether it runs without the host's root, and so cannot give ids to anybody
 */
record DaemonInfo(
    String name,
    String version,
    Map<String, String> parts,
    Set<String> runtimes,
    String defaultRuntime,
    boolean rootless) {
  DaemonInfo {
    parts = Map.copyOf(parts);
    runtimes = Set.copyOf(runtimes);
  }

  static DaemonInfo of(JsonNode version, JsonNode info) {
    var parts = new LinkedHashMap<String, String>();
    String name = "docker";
    for (JsonNode component : version.path("Components")) {
      String part = component.path("Name").asText("").toLowerCase(Locale.ROOT);
      String number = component.path("Version").asText("");
      if (part.contains("podman")) {
        name = "podman";
      }
      for (String known : Set.of("runc", "crun", "containerd")) {
        // Podman says "OCI Runtime (crun)".
        if (part.equals(known) || part.endsWith("(" + known + ")")) {
          parts.put(known, number);
        }
      }
    }
    var runtimes = new LinkedHashSet<String>();
    info.path("Runtimes").fieldNames().forEachRemaining(runtimes::add);
    boolean rootless = false;
    for (JsonNode option : info.path("SecurityOptions")) {
      rootless |= option.asText("").equals("name=rootless");
    }
    return new DaemonInfo(
        name,
        version.path("Version").asText(""),
        parts,
        runtimes,
        info.path("DefaultRuntime").asText(""),
        rootless);
  }
}
