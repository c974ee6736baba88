package dev.carrel.sdk;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What an engine can do on the server's host.
 *
 * @param isolation none, namespaces or gvisor
 * @param problems why it is not usable, or not stronger, each with what to do about it
 * @param rootfs what a sandbox may do with its root: read-only and, where it can, overlay
 * @param overlayProblem why not overlay, and what to do about it; null: it can
 */
public record EngineInfo(
    String name,
    String runtime,
    boolean usable,
    String isolation,
    List<Measure> isolationMeasures,
    List<String> problems,
    List<String> rootfs,
    @Nullable String overlayProblem) {
  public EngineInfo {
    isolationMeasures = List.copyOf(isolationMeasures);
    problems = List.copyOf(problems);
    rootfs = List.copyOf(rootfs);
  }
}
