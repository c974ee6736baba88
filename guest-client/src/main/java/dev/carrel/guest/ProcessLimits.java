package dev.carrel.guest;

import java.util.OptionalLong;

/** Resource limits of one exec's processes, below those of the sandbox; empty: the sandbox's. */
public record ProcessLimits(
    OptionalLong openFiles, OptionalLong processes, OptionalLong fileBytes) {
  public static final ProcessLimits NONE =
      new ProcessLimits(OptionalLong.empty(), OptionalLong.empty(), OptionalLong.empty());

  public ProcessLimits withOpenFiles(long limit) {
    return new ProcessLimits(OptionalLong.of(limit), processes, fileBytes);
  }

  public ProcessLimits withProcesses(long limit) {
    return new ProcessLimits(openFiles, OptionalLong.of(limit), fileBytes);
  }

  public ProcessLimits withFileBytes(long limit) {
    return new ProcessLimits(openFiles, processes, OptionalLong.of(limit));
  }
}
