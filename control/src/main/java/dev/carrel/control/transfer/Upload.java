package dev.carrel.control.transfer;

import dev.carrel.spi.SandboxId;
import dev.carrel.spi.UploadId;
import java.time.Instant;

/**
 * A file that comes in parts.
 *
 * @param path absolute, inside the sandbox, where it will be
 * @param size of all of it
 * @param whole whether all of it has come, and is in its place
 */
public record Upload(
    UploadId id,
    String tenant,
    SandboxId sandbox,
    String path,
    long size,
    boolean whole,
    Instant createdAt) {

  /** Where it is until it is whole: beside its place, so that one rename puts it there. */
  String draft() {
    int slash = path.lastIndexOf('/');
    return path.substring(0, slash + 1) + "." + id + ".part";
  }
}
