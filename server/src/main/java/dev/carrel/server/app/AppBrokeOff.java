package dev.carrel.server.app;

import java.io.IOException;

/** What an app says makes no sense, or ended before its end. */
final class AppBrokeOff extends IOException {
  private static final long serialVersionUID = 1L;

  AppBrokeOff(String message) {
    super(message);
  }
}
