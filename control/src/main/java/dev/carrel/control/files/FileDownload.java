package dev.carrel.control.files;

import dev.carrel.control.redact.RedactedStream;
import dev.carrel.control.sandbox.RunningSandbox;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;

/** A file being read. For one thread; must be closed. */
public final class FileDownload implements AutoCloseable {
  private static final int BUFFER = 64 * 1024;

  private final RunningSandbox sandbox;
  private final dev.carrel.guest.FileDownload source;
  private final FileEntry entry;
  private final long offset;
  private final long length;
  private final long before;
  private final RunningSandbox.Use use;

  /**
   * @param before bytes of the source that come before the first that is wanted
   */
  FileDownload(
      RunningSandbox sandbox,
      dev.carrel.guest.FileDownload source,
      FileEntry entry,
      long offset,
      long length,
      long before) {
    this.sandbox = sandbox;
    this.source = source;
    this.entry = entry;
    this.offset = offset;
    this.length = length;
    this.before = before;
    this.use = sandbox.use();
  }

  /**
   * All of a file that was looked at before, for the server's own use.
   *
   * @param seen what must still be there; a link or another file may have taken its place
   */
  public static FileDownload whole(
      RunningSandbox sandbox, String inside, dev.carrel.guest.FileEntry seen) {
    var source = sandbox.guest().files().read(inside);
    if (source.entry().inode() != seen.inode()) {
      source.close();
      throw new SandboxException(
          ErrorCode.WRONG_STATE, "it was replaced by another while it was looked at");
    }
    FileEntry entry = Entries.of(source.entry(), sandbox.redaction());
    return new FileDownload(sandbox, source, entry, 0, entry.size(), 0);
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
    RedactedStream clean = sandbox.redaction().sameLengthStream();
    long skip = before;
    long left = length;
    try {
      while (left > 0) {
        int count = source.read(buffer, 0, buffer.length);
        ByteBuffer bytes = count < 0 ? clean.end() : clean.next(ByteBuffer.wrap(buffer, 0, count));
        if (count < 0 && bytes.remaining() < skip + left) {
          throw new SandboxException(
              ErrorCode.WRONG_STATE, entry.path() + " became shorter while it was read");
        }
        int dropped = (int) Math.min(skip, bytes.remaining());
        skip -= dropped;
        int sent = (int) Math.min(left, bytes.remaining() - dropped);
        out.write(bytes.array(), bytes.arrayOffset() + bytes.position() + dropped, sent);
        left -= sent;
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
