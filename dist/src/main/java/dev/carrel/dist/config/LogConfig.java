package dev.carrel.dist.config;

/**
 * What is logged and how.
 *
 * @param format of standard error; the file in the data directory always has JSON lines
 */
public record LogConfig(Level level, Format format) {
  /** How much. */
  public enum Level {
    ERROR,
    WARN,
    INFO,
    DEBUG
  }

  /** TEXT for people, JSON for collectors. */
  public enum Format {
    TEXT,
    JSON
  }

  static LogConfig from(Settings settings) {
    return new LogConfig(
        settings.choice("log.level", Level.INFO), settings.choice("log.format", Format.TEXT));
  }
}
