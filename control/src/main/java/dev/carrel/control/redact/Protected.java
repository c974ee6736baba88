package dev.carrel.control.redact;

import java.nio.charset.StandardCharsets;

/**
 * A value that must not leave.
 *
 * @param name what it is called where somebody is told of it
 * @param canary whether its leaving is an alarm
 */
public record Protected(String name, String value, boolean canary) {
  byte[] bytes() {
    return value.getBytes(StandardCharsets.UTF_8);
  }

  /** Never the value. */
  @Override
  public String toString() {
    return "Protected[" + name + "]";
  }
}
