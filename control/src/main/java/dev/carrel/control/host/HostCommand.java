package dev.carrel.control.host;

import dev.carrel.spi.SandboxException;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A command for the host: a program and its arguments, each as it is.
 *
 * @param folder where it runs; null: the first folder of the settings
 * @param timeout null: the usual one
 */
public record HostCommand(
    List<String> words, @Nullable String folder, @Nullable Duration timeout, OnBehalf of) {
  public HostCommand {
    words = List.copyOf(words);
    if (words.isEmpty() || words.size() > Words.MAX_WORDS) {
      throw SandboxException.invalid("command", "must have 1 to " + Words.MAX_WORDS + " words");
    }
    for (String word : words) {
      Words.check("command", word, Words.MAX_WORD);
    }
    String program = words.getFirst();
    if (program.isEmpty() || program.contains("=") || program.startsWith("-")) {
      throw SandboxException.invalid(
          "command", "must begin with a program, and variables cannot be set");
    }
  }

  /** Of a line as people write it. */
  public static List<String> words(String line) {
    return Words.literal("command", line);
  }

  @Override
  public String toString() {
    return Words.text(words);
  }
}
