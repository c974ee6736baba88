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
public final class Files {

  public FileEntry stat(Caller caller, SandboxId sandbox, String path) {
    throw new UnsupportedOperationException();
  }

  public FileListing list(Caller caller, SandboxId sandbox, String path, int depth, int limit) {
    throw new UnsupportedOperationException();
  }

  public FileDownload read(
      Caller caller, SandboxId sandbox, String path, @Nullable ByteRange range) {
    throw new UnsupportedOperationException();
  }

  /** Streams {@code body} into the file; readers see the old file or the new one. */
  public FileEntry write(
      Caller caller, SandboxId sandbox, String path, InputStream body, WriteFile options)
      throws IOException {
    throw new UnsupportedOperationException();
  }

  public FileEntry mkdir(Caller caller, SandboxId sandbox, String path, boolean parents) {
    throw new UnsupportedOperationException();
  }

  public FileEntry move(
      Caller caller, SandboxId sandbox, String from, String to, boolean overwrite) {
    throw new UnsupportedOperationException();
  }

  public FileEntry copy(
      Caller caller, SandboxId sandbox, String from, String to, boolean overwrite) {
    throw new UnsupportedOperationException();
  }

  /** How many files and folders were removed. */
  public long remove(
      Caller caller, SandboxId sandbox, String path, boolean recursive, boolean missingOk) {
    throw new UnsupportedOperationException();
  }

  /** Newest first. */
  public FileListing glob(
      Caller caller, SandboxId sandbox, String path, String pattern, int limit, boolean hidden) {
    throw new UnsupportedOperationException();
  }

  public Grep.Result grep(Caller caller, SandboxId sandbox, Grep grep) {
    throw new UnsupportedOperationException();
  }

  public FileEvents watch(Caller caller, SandboxId sandbox, String path, boolean recursive) {
    throw new UnsupportedOperationException();
  }

  /** Writes a zip of a directory; links are left out. */
  public void zip(Caller caller, SandboxId sandbox, String path, OutputStream out)
      throws IOException {
    throw new UnsupportedOperationException();
  }
}
