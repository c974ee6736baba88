package dev.carrel.control.files;

import dev.carrel.control.sandbox.RunningSandbox;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.io.IOException;
import java.io.OutputStream;

/** A file being read. For one thread; must be closed. */
public final class FileDownload implements AutoCloseable {
  private static final int BUFFER = 64 * 1024;

  private final RunningSandbox sandbox;
  private final dev.carrel.guest.FileDownload source;
  private final FileEntry entry;
  private final long offset;
  private final long length;
  private final RunningSandbox.Use use;

  FileDownload(
      RunningSandbox sandbox,
      dev.carrel.guest.FileDownload source,
      FileEntry entry,
      long offset,
      long length) {
    this.sandbox = sandbox;
    this.source = source;
    this.entry = entry;
    this.offset = offset;
    this.length = length;
    this.use = sandbox.use();
  }

  public FileEntry entry() {
    return entry;
  }

  /** Of the first byte, after the range was applied. */
  public long offset() {
    return offset;
  }

  /** Bytes that {@link #transferTo} writes. */
  public long length() {
    return length;
  }

  /** Writes exactly {@link #length()} bytes, or fails. */
  public void transferTo(OutputStream out) throws IOException {
    byte[] buffer = new byte[BUFFER];
    long left = length;
    try {
      while (left > 0) {
        int count = source.read(buffer, 0, (int) Math.min(buffer.length, left));
        if (count < 0) {
          throw new SandboxException(
              ErrorCode.WRONG_STATE, entry.path() + " became shorter while it was read");
        }
        out.write(buffer, 0, count);
        left -= count;
      }
    } catch (SandboxException e) {
      throw sandbox.explain(e);
    } finally {
      sandbox.countDownload(length - left);
    }
  }

  @Override
  public void close() {
    use.close();
    source.close();
  }
}
