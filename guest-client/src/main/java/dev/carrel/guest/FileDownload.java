package dev.carrel.guest;

import java.io.IOException;
import java.io.InputStream;
import java.util.Objects;

/**
 * A file on its way out of the sandbox. For one thread. Fails with a {@link
 * dev.carrel.spi.SandboxException}, never an IOException, and so never looks complete when it is
 * not.
 */
public final class FileDownload extends InputStream {
  private final Answer answer;
  private final Connection connection;
  private final FileEntry entry;
  private long allowed;
  private boolean ended;

  FileDownload(Answer answer, FileEntry entry, long length) {
    this.answer = answer;
    this.connection = answer.connection();
    this.entry = entry;
    this.allowed = length;
  }

  /** The file as it was when it was opened; its size may have changed since. */
  public FileEntry entry() {
    return entry;
  }

  @Override
  public int read() {
    byte[] one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xFF;
  }

  @Override
  public int read(byte[] target, int offset, int length) {
    Objects.checkFromIndexSize(offset, length, target.length);
    if (length == 0) {
      return 0;
    }
    return Guest.begin(connection, answer, _ -> piece(target, offset, length));
  }

  private int piece(byte[] target, int offset, int length) throws IOException {
    while (!ended && connection.remaining() == 0) {
      int type = answer.next();
      if (type == Wire.OK) {
        answer.fields();
        ended = true;
        connection.close();
      } else if (type != Wire.DATA_OUT) {
        throw Answer.unexpected(type);
      } else if (connection.remaining() > allowed) {
        throw new Malformed("more of a file than was asked for");
      } else {
        allowed -= connection.remaining();
      }
    }
    if (ended) {
      return -1;
    }
    int taken = Math.min(length, connection.remaining());
    connection.take(target, offset, taken);
    return taken;
  }

  @Override
  public void close() {
    connection.close();
  }
}
