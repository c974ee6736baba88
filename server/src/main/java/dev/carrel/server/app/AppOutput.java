package dev.carrel.server.app;

import dev.carrel.spi.Alarm;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.WritableByteChannel;
import java.time.Duration;

/**
 * What goes to an app. While the app takes nothing nobody reads from the client either, so that one
 * which leaves would not be noticed: an app that stalls for long is hung up on.
 */
final class AppOutput {
  /** Longer than an app that serves one request at a time usually needs for the one before. */
  static final Duration PATIENCE = Duration.ofMinutes(5);

  private static final int PIECE = 8 * 1024;

  private final WritableByteChannel app;
  private final Duration patience;

  AppOutput(WritableByteChannel app, Duration patience) {
    this.app = app;
    this.patience = patience;
  }

  void write(byte[] bytes) throws IOException {
    write(bytes, bytes.length);
  }

  void write(byte[] bytes, int count) throws IOException {
    for (int at = 0; at < count; at += PIECE) {
      var piece = ByteBuffer.wrap(bytes, at, Math.min(PIECE, count - at));
      try (var _ = Alarm.after(patience, () -> Thread.startVirtualThread(this::hangUp))) {
        while (piece.hasRemaining()) {
          app.write(piece);
        }
      }
    }
  }

  private void hangUp() {
    try {
      app.close();
    } catch (IOException e) {
      // It is of no more use in either case.
      return;
    }
  }
}
