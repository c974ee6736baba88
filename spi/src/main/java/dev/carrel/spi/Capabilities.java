package dev.carrel.spi;

import java.util.List;

/**
 * What an engine can do on this host.
 *
 * @param usable whether {@link Engine#start} can work with the present settings
 * @param problems why it is not usable, or not stronger, each with what to do about it
 */
public record Capabilities(
    String engine, String runtime, boolean usable, Isolation isolation, List<String> problems) {
  public Capabilities {
    problems = List.copyOf(problems);
  }
}
