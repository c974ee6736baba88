package dev.carrel.guest;

import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.io.EOFException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The guest's frames in answer to one request, held to what that request allows: only the expected
 * types, no more items than were asked for, and no more memory than any honest answer takes.
 */
final class Answer {
  private static final long MAX_BYTES = 32L << 20;

  private final Connection connection;
  private final ErrorCode absent;
  private final String subject;
  private long bytes;
  private @Nullable Fields ok;

  /**
   * @param absent what {@code not_found} means here
   * @param subject what was asked for, for messages
   */
  Answer(Connection connection, ErrorCode absent, String subject) {
    this.connection = connection;
    this.absent = absent;
    this.subject = subject;
  }

  Connection connection() {
    return connection;
  }

  /** The next frame's type. An error from the guest is thrown as ours. */
  int next() throws IOException {
    int type = connection.next();
    if (type == Connection.END) {
      throw new EOFException("the guest ended the connection without an answer to " + subject);
    }
    if (type == Wire.ERROR) {
      throw GuestErrors.of(fields(), absent, subject);
    }
    return type;
  }

  Fields fields() throws IOException {
    bytes += connection.remaining();
    if (bytes > MAX_BYTES) {
      throw new SandboxException(
              ErrorCode.TOO_LARGE, subject + ": the answer has more than " + MAX_BYTES + " bytes")
          .withHint("ask for fewer entries at a time");
    }
    return connection.fields();
  }

  /** The next frame, which must be of this type. */
  Fields expect(int type) throws IOException {
    int found = next();
    if (found != type) {
      throw unexpected(found);
    }
    return fields();
  }

  /** Frames of this type up to the closing OK. */
  <T> List<T> items(int type, long limit, Decoder<T> decoder) throws IOException {
    var items = new ArrayList<T>();
    for (int found = next(); found != Wire.OK; found = next()) {
      if (found != type) {
        throw unexpected(found);
      }
      if (items.size() >= limit) {
        throw new Malformed("more than the " + limit + " items that were asked for");
      }
      items.add(decoder.decode(fields()));
    }
    ok = fields();
    return items;
  }

  /** The fields of the OK that closed {@link #items}. */
  Fields ok() {
    if (ok == null) {
      throw new IllegalStateException("the items were not read yet");
    }
    return ok;
  }

  static Malformed unexpected(int type) {
    return new Malformed("a frame of type 0x" + Integer.toHexString(type) + " out of turn");
  }

  /** Makes a thing of a frame. */
  interface Decoder<T> {
    T decode(Fields fields) throws IOException;
  }

  /** What is done with an answer. */
  interface Reader<T> {
    T read(Answer answer) throws IOException;
  }
}
