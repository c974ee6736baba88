package dev.carrel.cli;

import java.nio.file.Path;

/** A server for others, as {@code serve} announces it. */
public interface ServedServer extends LocalServer {
  Path tokenFile();

  Path logFile();
}
