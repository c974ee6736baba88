package dev.carrel.server.rest;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Properties;

/** Which Carrel this is, as the build wrote it. */
public final class Version {
  public static final String CURRENT = read();

  private Version() {}

  private static String read() {
    try (InputStream in = Resources.open("version.properties")) {
      var properties = new Properties();
      properties.load(in);
      return properties.getProperty("version", "unknown");
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
