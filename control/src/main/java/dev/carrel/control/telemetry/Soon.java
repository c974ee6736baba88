package dev.carrel.control.telemetry;

import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;

/** Stands where a body is being written; gone when the last one is. */
public final class Soon {
  private Soon() {}

  public static SandboxException here() {
    return new SandboxException(ErrorCode.INTERNAL, "not in this build yet");
  }
}
