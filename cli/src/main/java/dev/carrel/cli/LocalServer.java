package dev.carrel.cli;

/** A server that lives for the length of one command. */
public interface LocalServer extends AutoCloseable {
  Endpoint endpoint();

  @Override
  void close();
}
