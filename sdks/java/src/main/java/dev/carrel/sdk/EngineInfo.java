package dev.carrel.sdk;

import java.util.List;

/**
 * What an engine can do on the server's host.
 *
 * @param isolation none, namespaces or gvisor
 * @param problems why it is not usable, or not stronger, each with what to do about it
 */
public record EngineInfo(
    String name,
    String runtime,
    boolean usable,
    String isolation,
    List<Measure> isolationMeasures,
    List<String> problems) {
  public EngineInfo {
    isolationMeasures = List.copyOf(isolationMeasures);
    problems = List.copyOf(problems);
  }
}
