package dev.carrel.control.files;

import dev.carrel.control.sandbox.Caller;
import dev.carrel.spi.SandboxId;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import org.jspecify.annotations.Nullable;

/**
 * Files of sandboxes. A relative path starts at /workspace; {@code ..}, NUL and over-long paths are
 * refused with the field {@code path}.
 */
@SuppressWarnings("DoNotCallSuggester")
public final class Files {

  public FileEntry stat(Caller caller, SandboxId sandbox, String path) {
    throw dev.carrel.control.telemetry.Soon.here();
  }

  public FileListing list(Caller caller, SandboxId sandbox, String path, int depth, int limit) {
    throw dev.carrel.control.telemetry.Soon.here();
  }

  public FileDownload read(
      Caller caller, SandboxId sandbox, String path, @Nullable ByteRange range) {
    throw dev.carrel.control.telemetry.Soon.here();
  }

  /** Streams {@code body} into the file; readers see the old file or the new one. */
  public FileEntry write(
      Caller caller, SandboxId sandbox, String path, InputStream body, WriteFile options)
      throws IOException {
    throw dev.carrel.control.telemetry.Soon.here();
  }

  public FileEntry mkdir(Caller caller, SandboxId sandbox, String path, boolean parents) {
    throw dev.carrel.control.telemetry.Soon.here();
  }

  public FileEntry move(
      Caller caller, SandboxId sandbox, String from, String to, boolean overwrite) {
    throw dev.carrel.control.telemetry.Soon.here();
  }

  public FileEntry copy(
      Caller caller, SandboxId sandbox, String from, String to, boolean overwrite) {
    throw dev.carrel.control.telemetry.Soon.here();
  }

  /** How many files and folders were removed. */
  public long remove(
      Caller caller, SandboxId sandbox, String path, boolean recursive, boolean missingOk) {
    throw dev.carrel.control.telemetry.Soon.here();
  }

  /** Newest first. */
  public FileListing glob(
      Caller caller, SandboxId sandbox, String path, String pattern, int limit, boolean hidden) {
    throw dev.carrel.control.telemetry.Soon.here();
  }

  public Grep.Result grep(Caller caller, SandboxId sandbox, Grep grep) {
    throw dev.carrel.control.telemetry.Soon.here();
  }

  public FileEvents watch(Caller caller, SandboxId sandbox, String path, boolean recursive) {
    throw dev.carrel.control.telemetry.Soon.here();
  }

  /** Writes a zip of a directory; links are left out. */
  public void zip(Caller caller, SandboxId sandbox, String path, OutputStream out)
      throws IOException {
    throw dev.carrel.control.telemetry.Soon.here();
  }
}
