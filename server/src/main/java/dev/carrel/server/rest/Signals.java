package dev.carrel.server.rest;

import dev.carrel.server.http.Fields;
import java.util.Locale;
import java.util.Map;

/** Signals by their Linux names and numbers. */
final class Signals {
  private static final int LAST = 64;
  private static final Map<String, Integer> NUMBERS =
      Map.ofEntries(
          Map.entry("HUP", 1),
          Map.entry("INT", 2),
          Map.entry("QUIT", 3),
          Map.entry("ABRT", 6),
          Map.entry("KILL", 9),
          Map.entry("USR1", 10),
          Map.entry("SEGV", 11),
          Map.entry("USR2", 12),
          Map.entry("PIPE", 13),
          Map.entry("ALRM", 14),
          Map.entry("TERM", 15),
          Map.entry("CONT", 18),
          Map.entry("STOP", 19),
          Map.entry("TSTP", 20),
          Map.entry("TTIN", 21),
          Map.entry("TTOU", 22),
          Map.entry("WINCH", 28));

  private Signals() {}

  static int number(Fields fields) {
    if (!fields.isString("signal")) {
      return fields.requiredWholeNumber("signal", 1, LAST);
    }
    String name = fields.requiredString("signal").toUpperCase(Locale.ROOT);
    Integer number = NUMBERS.get(name.startsWith("SIG") ? name.substring(3) : name);
    if (number == null) {
      throw fields.wrong("signal", "is not the name of a signal, such as SIGTERM");
    }
    return number;
  }
}
