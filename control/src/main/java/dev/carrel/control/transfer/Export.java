package dev.carrel.control.transfer;

import dev.carrel.spi.ExportId;
import dev.carrel.spi.SandboxId;
import java.time.Instant;

/**
 * A file or folder that may leave its sandbox. It is not a copy: whoever fetches it gets what is
 * there then.
 *
 * @param path absolute, inside the sandbox
 */
public record Export(
    ExportId id,
    String tenant,
    SandboxId sandbox,
    String path,
    String createdBy,
    Instant createdAt) {

  /** Whether a path is this one or below it. */
  boolean covers(String absolute) {
    return absolute.equals(path) || absolute.startsWith(path + "/");
  }

  /** A link to it, for whoever has it. */
  public record Link(Export export, Instant expires, String token) {}
}
