package dev.carrel.control.bridge;

import dev.carrel.spi.SandboxException;

/** What a value is carried as. */
public enum Form {
  /** Numbers, text, lists, maps. */
  JSON,
  /** Columns with types: a data frame, or an array of objects in Node. */
  TABLE;

  public static Form parse(String text) {
    return switch (text) {
      case "json" -> JSON;
      case "table" -> TABLE;
      default -> throw SandboxException.invalid("format", "must be json or table");
    };
  }
}
