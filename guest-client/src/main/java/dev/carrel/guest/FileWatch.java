package dev.carrel.guest;

import dev.carrel.spi.SandboxException;
import java.io.EOFException;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/** Changes in a folder, as they happen. One thread takes them; another may close. */
public final class FileWatch implements AutoCloseable {
  private static final FileEvent.Kind[] KINDS = FileEvent.Kind.values();

  private final Connection connection;
  private final String path;

  FileWatch(Connection connection, String path) {
    this.connection = connection;
    this.path = path;
  }

  /**
   * Waits for the next event; null once this was closed.
   *
   * @throws SandboxException {@code GUEST_LOST} when the guest vanished or broke the protocol
   */
  public @Nullable FileEvent next() {
    if (connection.closed()) {
      return null;
    }
    try {
      int type = connection.next();
      if (type == Connection.END) {
        throw new EOFException("the guest ended the watch on " + path);
      }
      if (type != Wire.EVENT) {
        throw Answer.unexpected(type);
      }
      return event(connection.fields());
    } catch (IOException e) {
      if (connection.closed()) {
        return null;
      }
      throw connection.lost(e);
    }
  }

  @Override
  public void close() {
    connection.close();
  }

  private static FileEvent event(Fields fields) throws Malformed {
    FileEvent.Kind kind = KINDS[(int) fields.integer(64, 0, KINDS.length - 1)];
    if (kind == FileEvent.Kind.OVERFLOW) {
      return new FileEvent("", true, kind, false);
    }
    Fields.Name path = fields.path(Wire.TAG_PATH);
    return new FileEvent(path.shown(), path.exact(), kind, fields.flag(65));
  }
}
