package dev.carrel.guest;

import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Objects;

/**
 * A file on its way into the sandbox. For one thread. Closing without {@link #commit} leaves the
 * old file as it was. Fails with a {@link SandboxException}, never an IOException.
 */
public final class FileUpload extends OutputStream {
  private static final int PIECE = 64 * 1024;

  private final Connection connection;
  private final Answer answer;
  private final Duration work;
  private long sent;

  FileUpload(Connection connection, String path, Duration work) {
    this.connection = connection;
    this.work = work;
    this.answer = new Answer(connection, ErrorCode.FILE_NOT_FOUND, path);
  }

  @Override
  public void write(int value) {
    write(new byte[] {(byte) value}, 0, 1);
  }

  @Override
  public void write(byte[] source) {
    write(source, 0, source.length);
  }

  @Override
  public void write(byte[] source, int offset, int length) {
    Objects.checkFromIndexSize(offset, length, source.length);
    // In pieces, so that each wait is for one of them and not for the whole.
    for (int at = 0; at < length; at += PIECE) {
      ByteBuffer piece = ByteBuffer.wrap(source, offset + at, Math.min(PIECE, length - at));
      int size = piece.remaining();
      send(() -> connection.sendRaw(Wire.DATA, piece));
      sent += size;
    }
  }

  /** Bytes that went out so far. */
  public long sent() {
    return sent;
  }

  /** Puts the file in its place, in one step, and returns what is there now. */
  public FileEntry commit() {
    send(() -> connection.sendEmpty(Wire.DATA_END));
    // To bring all of it to the disk takes as long as the disk does.
    connection.deadline().suspend(work.toNanos());
    FileEntry entry = Guest.begin(connection, answer, GuestFiles::only);
    connection.close();
    return entry;
  }

  @Override
  public void close() {
    connection.close();
  }

  private void send(Sending sending) {
    Deadline deadline = connection.deadline();
    deadline.beginWait();
    try {
      sending.run();
    } catch (IOException e) {
      throw refusal(e);
    } finally {
      deadline.endWait();
    }
  }

  /** A guest that stops reading in the middle has said why before it closed. */
  private SandboxException refusal(IOException failure) {
    if (connection.deadline().passed() || connection.closed()) {
      return connection.lost(failure);
    }
    try {
      int type = answer.next();
      return connection.lost(Answer.unexpected(type));
    } catch (SandboxException said) {
      connection.close();
      return said;
    } catch (IOException e) {
      failure.addSuppressed(e);
      return connection.lost(failure);
    }
  }

  /** One write. */
  private interface Sending {
    void run() throws IOException;
  }
}
