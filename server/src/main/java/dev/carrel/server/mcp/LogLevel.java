package dev.carrel.server.mcp;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Locale;

/** How important a log message is, the least first. */
public enum LogLevel {
  DEBUG,
  INFO,
  NOTICE,
  WARNING,
  ERROR,
  CRITICAL,
  ALERT,
  EMERGENCY;

  String wireName() {
    return name().toLowerCase(Locale.ROOT);
  }

  static LogLevel parse(JsonNode name) {
    for (LogLevel level : values()) {
      if (level.wireName().equals(name.textValue())) {
        return level;
      }
    }
    throw RpcError.invalidParams("level must be one of debug, info, notice, … emergency");
  }
}
