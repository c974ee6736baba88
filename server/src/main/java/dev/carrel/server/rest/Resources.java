package dev.carrel.server.rest;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;

/** Files that the build put beside the classes. */
final class Resources {
  private Resources() {}

  static InputStream open(String name) throws IOException {
    String path = name.startsWith("/") ? name : "/dev/carrel/server/" + name;
    InputStream in = Resources.class.getResourceAsStream(path);
    if (in == null) {
      throw new FileNotFoundException("not in this build: " + path);
    }
    return in;
  }

  static byte[] bytes(String name) {
    try (InputStream in = open(name)) {
      return in.readAllBytes();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
