package dev.carrel.dist.config;

/** A setting that stops the start. The message names the key and is meant for the operator. */
public final class ConfigurationException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public ConfigurationException(String message) {
    super(message);
  }
}
